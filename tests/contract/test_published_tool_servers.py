"""Published tool servers as they are, installed into a folder of the test: two of npm."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.ports.tool_servers import LocalProgram, ServerEntry
from tests.contract.test_tool_servers import connected, until
from tests.packages import NotInstalled, need

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("published tool servers")]
NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")
INSTALL_SECONDS = 150


def installed(*command: str) -> None:
    """Run an installation; where its registry cannot be reached, the suite says so."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
    if ended.returncode:
        raise NotInstalled(("npm",))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ServerEntry]:
    need("npm")
    folder = tmp_path_factory.mktemp("npm")
    installed("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM)

    def entry(name: str, *args: str) -> ServerEntry:
        program = folder / "node_modules" / ".bin" / f"mcp-server-{name}"
        return ServerEntry(name=name, reached=LocalProgram(command=str(program), args=args), place=name)

    return entry


async def test_everything_is_a_family_of_commands(
    node: Callable[..., ServerEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-signoff")
    reports: list[str] = []
    async with connected(node("everything")) as server:
        loaded = ServerCommands(server, visible).loaded({})
        names = [each.spec.name for each in loaded.commands]
        assert {"everything.echo", "everything.get-env", "everything.read"} <= {*names}
        assert not loaded.remarks
        assert (await server.call("echo", {"message": "tea"}, print)).text == "Echo: tea"
        assert "sk-of-signoff" not in (await server.call("get-env", {}, print)).text
        slow = {"duration": 1, "steps": 4}
        assert "completed" in (await server.call("trigger-long-running-operation", slow, reports.append)).text
        assert (await server.call("get-tiny-image", {}, print)).attachments[0].media_type == "image/png"
        resource = (await server.list_resources())[0]
        assert (await server.read(resource.uri)).text or (await server.read(resource.uri)).attachments
    assert reports[-1].startswith("4 of 4")


async def test_files_are_read_and_written_where_the_server_may(
    node: Callable[..., ServerEntry], tmp_path: Path
) -> None:
    (tmp_path / "tea.txt").write_text("green")
    async with connected(node("filesystem", str(tmp_path))) as server:
        loaded = ServerCommands(server, visible).loaded({})
        assert {"filesystem.read_text_file", "filesystem.write_file"} <= {each.spec.name for each in loaded.commands}
        assert (await server.call("read_text_file", {"path": str(tmp_path / "tea.txt")}, print)).text == "green"
        await server.call("write_file", {"path": str(tmp_path / "new.txt"), "content": "black"}, print)
        assert (await server.call("read_text_file", {"path": "/etc/passwd"}, print)).is_error
    assert (tmp_path / "new.txt").read_text() == "black"


async def test_the_prompts_of_everything(node: Callable[..., ServerEntry]) -> None:
    async with connected(node("everything")) as server:
        await until(lambda: bool(server.prompts))
        offered = {each.name: each for each in server.prompts}
        assert any(each.arguments for each in offered.values()), offered
        asks_nothing = next(each for each in offered.values() if not each.arguments)
        assert await server.read_prompt(asks_nothing.name, {})
