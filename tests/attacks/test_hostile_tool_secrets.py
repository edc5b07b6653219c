"""Secrets of the file MCP_SERVERS that a server, or an answer, would show."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.capabilities.tool_servers.server_file import read_tool_servers
from agent_core.model.question import ServerQuestion
from agent_core.oversight.secrets import Secrets
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands
from bot.settings import load
from bot.wiring.tool_servers import ToolServerSet, serve_tools
from tests.attacks.bare_tool_servers import program, until
from tests.attacks.rows import attack

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
