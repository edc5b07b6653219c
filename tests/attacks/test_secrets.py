"""Getting at secrets: of tool servers and plugins, from another workspace of Slack or account of the machine."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.install.installations import InstallationStore, WorkspaceInstall
from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.tool_servers.server_file import read_tool_servers
from agent_core.model.origin import ChannelScope
from agent_core.model.question import ServerQuestion
from agent_core.oversight.secrets import PIECE_CHARACTERS, REDACTED, Secrets
from agent_core.plugins import PluginTools
from agent_core.plugins.plugin_set import PluginSet
from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.channel_tools import load_tool_switches
from agent_core.toolset.registry import CommandContext, Commands
from bot.bootstrap import assemble
from bot.private_files import close_to_others, paths_open_to_others
from bot.settings import Settings, load
from bot.wiring.tool_servers import ToolServerSet, serve_tools
from tests.attacks.bare_tool_servers import program, until
from tests.attacks.ordinary import NOBODY, ROOT
from tests.attacks.rows import attack
from tests.autogpt_plugins import Plugins, plugin_source
from tests.packages import need

# Secrets of the file MCP_SERVERS that a server, or an answer, would show
SECRET = "sk-of-the-operator-4711"


def written(folder: Path, **servers: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


TELLS = """
def tools(cursor):
    key = os.environ["TEA_KEY"]
    return {"tools": [{"name": "pour", "title": f"Pour {key}", "description": f"My key is {key}.",
        "inputSchema": {"type": "object", "properties": {"kind": {"type": "string", "description": f"or {key}"}}}}]}
"""


@pytest.mark.slow
@attack("servers", "A tool's title, description and arguments hold a key of its entry", "[secret]")
async def test_a_key_in_what_a_server_says_of_its_tool_is_not_shown(tmp_path: Path, answer: str) -> None:
    made = program(tmp_path, TELLS)
    entry = {"command": made.command, "args": [*made.args], "env": {"TEA_KEY": SECRET}}
    settings, commands = load({"MCP_SERVERS": str(written(tmp_path, tea=entry))}, None), Commands()
    async with serve_tools(settings, ToolServerSet(), commands, SystemClock()):
        await until(lambda: "tea.pour" in commands.by_name)
        spec = commands.by_name["tea.pour"].spec
    assert answer in spec.label
    assert SECRET not in str(spec)  # description: page, prompt, hooks of plugins; label and hints: forms


CUT = """
CAPABILITIES = {"tools": {}}
KEY = os.environ["TEA_KEY"]
def tools(cursor):
    return {"tools": [{"name": "pour", "description": "x" * 1_990 + KEY, "inputSchema": NONE}]}
def called(params):
    token = params["_meta"]["progressToken"]
    told = {"progressToken": token, "progress": 1, "message": "x" * 290 + KEY}
    send({"method": "notifications/progress", "params": told})
    sure = {"type": "boolean", "description": "x" * 190 + KEY}
    asked = {"message": "x" * 1_990 + KEY, "requestedSchema": {"type": "object", "properties": {"sure": sure}}}
    send({"id": "q", "method": "elicitation/create", "params": asked})
    sys.stdin.readline()
    return {"content": []}
"""


@pytest.mark.slow
@attack(
    "servers",
    "A key of its entry stands where a text is cut",
    "hidden before it is cut: half a key is not known as one",
)
async def test_a_key_that_is_cut_is_not_shown_in_part(tmp_path: Path, answer: str) -> None:
    made, told = program(tmp_path, CUT), list[str]()
    entry = {"command": made.command, "args": [*made.args], "env": {"TEA_KEY": SECRET}}
    settings, commands = load({"MCP_SERVERS": str(written(tmp_path, tea=entry))}, None), Commands()
    context = CommandContext(agent=an_agent(), files=InMemoryFiles())

    async def ask(question: ServerQuestion) -> None:
        told.append(str(question))

    async with serve_tools(settings, ToolServerSet(), commands, SystemClock()) as found:
        await until(lambda: "tea.pour" in commands.by_name)
        told.append(str(await commands.by_name["tea.pour"].preview({}, context)))
        await found.servers[0].call("pour", {}, told.append, ask_people=ask)
    assert len(told) == 3
    assert not [each for each in told if SECRET[:6] in each]
    assert answer


@pytest.mark.parametrize(
    ("entry", "secret"),
    [
        ({"command": "x", "env": {"SMTP_PASS": "hunter-2-hunter"}}, "hunter-2-hunter"),
        ({"command": "x", "env": {"GPG_PASSPHRASE": "hunter-2-hunter"}}, "hunter-2-hunter"),
        ({"command": "x", "env": {"GITHUB_PAT": "ghp_0123456789"}}, "ghp_0123456789"),
        ({"command": "x", "env": {"DATABASE_URL": "postgres://tea:pot-of-tea@db/tea"}}, "pot-of-tea"),
        ({"url": "https://mcp.example.com/mcp?sk-0123456789"}, "sk-0123456789"),
        ({"url": "https://sk-0123456789@mcp.example.com/mcp"}, "sk-0123456789"),
        ({"url": "https://me:black%2Ftea%2Fpot@mcp.example.com/mcp"}, "black/tea/pot"),
        ({"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Basic bWU6YmxhY2stdGVhLXBvdA=="}},
         "black-tea-pot"),
    ],
)  # fmt: skip
def test_what_an_entry_keeps_secret_is_known_as_a_secret(tmp_path: Path, entry: dict[str, Any], secret: str) -> None:
    found = read_tool_servers(written(tmp_path, tea=entry), {})
    assert secret not in Secrets.of(found.secrets).redact(f"The server says {secret}.")


# A variable of PLUGIN_ENV is not shown in what a plugin of AutoGPT says of its commands


@pytest.mark.slow
@attack("plugins", "Writing a variable of PLUGIN_ENV into a label and a hint", "shown as [secret]; the command runs")
async def test_a_variable_of_a_plugin_is_not_shown_in_its_labels_and_hints(tmp_path: Path) -> None:
    plugins = Plugins(tmp_path, environment={"TEA_TOKEN": SECRET})
    source = (
        plugin_source()
        .replace("'Make tea'", "'Make ' + os.environ['TEA_TOKEN']")
        .replace("'<kind of tea>'", "os.environ['TEA_TOKEN']")
    )
    try:
        loaded = await plugins.one(source)
        assert plugins.pool.load_sites is not None
        (made,) = PluginSet(loaded=[loaded]).commands(PluginTools(load_sites=plugins.pool.load_sites))
        assert (await made.run({}, plugins.context())).text == "tea"
    finally:
        await plugins.close()
    assert SECRET not in str(made.spec)


# Long texts that are made for the search for secrets to take long, such as a file of an agent that a client reads
KEYS = [f"sk-{number:02}-of-the-operator" for number in range(8)]


@pytest.mark.slow
@attack("services", "A file of 5 MB of beginnings of keys is read", "searched piece by piece, between which others run")
async def test_a_search_for_secrets_lets_others_run(answer: str) -> None:
    secrets, text = Secrets.of(KEYS), "s" * 5 * 2**20
    began = last = time.monotonic()
    longest = 0.0
    reading = asyncio.create_task(asyncio.to_thread(secrets.redact, text))
    while not reading.done():
        await asyncio.wait((reading,), timeout=0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert await reading == text
    assert longest < (last - began) / 3
    assert answer


@pytest.mark.slow
def test_a_secret_across_two_pieces_is_found_as_in_a_short_text() -> None:
    secrets, key = Secrets.of([*KEYS, KEYS[0][:8]]), KEYS[0]
    for before in range(PIECE_CHARACTERS - len(key) - 1, PIECE_CHARACTERS + 2):
        text = f"{'s' * before}{key}{key}s"
        assert secrets.redact(text) == f"{'s' * before}{REDACTED}{REDACTED}s"
    many = (key + "tea ") * 20_000
    assert secrets.redact(many) == f"{REDACTED}tea " * 20_000


# Using the operator's keys and tools from a Slack workspace that the operator does not know
STRANGERS = WorkspaceInstall(workspace="T66", team_name="Eve", bot_token="xoxb-66", bot_user="U66")
CLIENT_SECRET = "client-secret"


@attack("approval", "Using the Slack app from a workspace that the operator does not know", "it is not installed there")
@pytest.mark.proves("slack:allowed")
async def test_an_unknown_workspace_is_not_served(answer: str) -> None:
    database, clock = TemporaryDatabase(), FakeClock()
    store = InstallationStore(database=database, clock=clock, client_secret=CLIENT_SECRET, allowed={"any": False})
    await store.keep(STRANGERS)
    named = InstallationStore(database=database, clock=clock, client_secret=CLIENT_SECRET, allowed={"T1": True})
    assert (await named.get("T66"), await named.every()) == (None, ()), answer


@attack("approval", "Calling the operator's tools from a workspace that installed the Slack app", "tools are off there")
@pytest.mark.proves("slack:allowed")
async def test_tools_are_off_in_a_workspace_that_installed_itself(answer: str) -> None:
    database = TemporaryDatabase()
    store = InstallationStore(database=database, clock=FakeClock(), client_secret=CLIENT_SECRET, allowed={"any": False})
    await store.keep(STRANGERS)
    async with database.begin() as work:
        switches = await load_tool_switches(work, ChannelScope("slack", "T66", "C1"))
    assert not switches.turn_on(["crm"]).is_source_on("crm"), answer


# Attacks by other accounts of the same machine, on what Signoff keeps in files
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can try it as another account")
DENIED = "Permission denied"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A folder that every account may enter, with a `.env` and a data folder as an earlier version left them."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "home" / "workspaces" / "0ada").mkdir(parents=True)
        (folder / ".env").write_text("OPENAI_API_KEY=sk-secret")
        (folder / "home" / "signoff.db").touch()
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        monkeypatch.chdir(folder)
        yield load({"SIGNOFF_HOME": str(folder / "home")}, None)


@pytest.mark.slow
@needs_root
@pytest.mark.proves("home:private")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".env", marks=attack("files", "Another account of the machine reads `.env`", DENIED)),
        pytest.param("home/signoff.db", marks=attack("files", "It reads the database", DENIED)),
        pytest.param("home/workspaces/0ada/notes.txt", marks=attack("files", "It reads a workspace's file", DENIED)),
    ],
)
async def test_other_accounts_read_nothing(installed: Settings, path: str, answer: str) -> None:
    async with assemble(installed):
        await FolderFiles(installed.home / "workspaces" / "0ada").write("notes.txt", b"secret")
    assert as_another_account("cat", path).endswith(f"{answer}\n")


@pytest.mark.slow
@needs_root
@pytest.mark.proves("home:private")
@attack("files", "It runs a setuid file in a workspace", "Permission denied")
async def test_other_accounts_run_nothing_of_a_workspace(installed: Settings, answer: str) -> None:
    async with assemble(installed):
        tool = installed.home / "workspaces" / "0ada" / "tool"
        shutil.copy("/usr/bin/id", tool)
        tool.chmod(0o4755)
        assert as_another_account("sh", "-c", f"exec {tool}").endswith(f"{answer}\n")


@pytest.mark.proves("home:private")
async def test_what_was_open_is_closed_at_the_start(installed: Settings) -> None:
    names = [path.name for path in paths_open_to_others(installed)]
    assert names == ["home", "workspaces", "signoff.db", ".env"]
    async with assemble(installed):
        assert paths_open_to_others(installed) == []


def test_a_group_keeps_the_settings_that_were_given_to_it(installed: Settings) -> None:
    Path(".env").chmod(0o640)
    close_to_others(installed)
    assert Path(".env").stat().st_mode & 0o777 == 0o640


def test_a_folder_of_the_whole_machine_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "workspaces").mkdir(mode=0o755)
    close_to_others(load({"SIGNOFF_HOME": str(tmp_path)}, None))
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "workspaces").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.proves("home:private")
def test_a_process_makes_files_for_its_own_account_only() -> None:
    code = "import os\nfrom bot.__main__ import main\ntry: main(['--help'])\nexcept SystemExit: print(oct(os.umask(0)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0o77"


def as_another_account(*line: str) -> str:
    """What a program prints that an account without rights runs."""
    need("util-linux")
    done = subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *line],
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout
