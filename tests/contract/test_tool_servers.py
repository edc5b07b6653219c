"""Tool servers over real pipes and sockets: those that help, and those that do not keep to anything."""

import asyncio
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.tool_servers import mcp_server, transports
from agent_core.capabilities.tool_servers.mcp_server import McpServer
from agent_core.errors import CommandError
from agent_core.ports.tool_servers import LocalProgram, RemoteAddress, ServerEntry
from agent_core.providers.clock import SystemClock
from tests.attacks.bare_tool_servers import program
from tests.patience import PATIENCE_SECONDS

SERVERS = Path(__file__).parent / "servers"
CLOCK = SystemClock()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await CLOCK.sleep(0.01)


def local(script: str, *args: str, **env: str) -> LocalProgram:
    return LocalProgram(command=sys.executable, args=(str(SERVERS / script), *args), env=env)


@asynccontextmanager
async def connected(entry: ServerEntry, seconds: float = PATIENCE_SECONDS) -> AsyncIterator[McpServer]:
    server = McpServer(entry=entry, clock=CLOCK, seconds=seconds)
    running = asyncio.create_task(server.run())
    try:
        await until(lambda: server.state.condition == "connected")
        yield server
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def entry_of(program: LocalProgram | RemoteAddress) -> ServerEntry:
    return ServerEntry(name="helpful", reached=program, place="here")


@asynccontextmanager
async def reached(by: str) -> AsyncIterator[McpServer]:
    if by == "stdio":
        async with connected(entry_of(local("helpful.py"))) as server:
            yield server
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVERS / "helpful.py"), "http", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with connected(entry_of(RemoteAddress(url=f"http://127.0.0.1:{port}/mcp"))) as server:
            yield server
    finally:
        process.terminate()
        await process.wait()


both = pytest.mark.parametrize("by", ["stdio", pytest.param("http", marks=pytest.mark.slow)])


@pytest.mark.slow
@both
async def test_a_tool_answers_once_although_its_server_sends_the_text_twice(by: str) -> None:
    async with reached(by) as server:
        assert (await server.call("echo", {"text": "green"}, print)).text == "green"
        assert server.instructions == "Ask echo."
        assert [each.name for each in server.tools][:2] == ["echo", "count"]


@pytest.mark.slow
@both
async def test_progress_is_reported_while_a_tool_runs(by: str) -> None:
    reports: list[str] = []
    async with reached(by) as server:
        assert (await server.call("count", {"upto": 3}, reports.append)).text == "counted to 3"
    assert reports == ["1 of 3 now 1", "2 of 3 now 2", "3 of 3 now 3"]


@pytest.mark.slow
@both
async def test_a_cancelled_call_is_cancelled_at_the_server(by: str, tmp_path: Path) -> None:
    begun, note = tmp_path / "begun", tmp_path / "note"
    async with reached(by) as server:
        calling = asyncio.create_task(server.call("wait", {"begun": str(begun), "ended": str(note)}, print))
        await until(begun.exists)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await until(note.exists)
        assert (await server.call("echo", {"text": "still here"}, print)).text == "still here"


@pytest.mark.slow
@both
async def test_prompts_are_listed_and_read(by: str) -> None:
    async with reached(by) as server:
        await until(lambda: bool(server.prompts))
        (plan,) = server.prompts
        assert (plan.name, plan.title, plan.description) == ("plan", "Plan a tasting", "Plan a tasting of one tea.")
        assert [(each.name, each.is_required) for each in plan.arguments] == [("tea", True), ("guests", False)]
        text = await server.read_prompt("plan", {"tea": "oolong"})
        assert text == "Find three kinds of oolong.\n\nWrite a plan for two guests."
        with pytest.raises(CommandError, match="refused this"):
            await server.read_prompt("plan", {})


@pytest.mark.slow
@both
async def test_resources_are_listed_and_read(by: str) -> None:
    async with reached(by) as server:
        assert [each.uri for each in await server.list_resources()] == ["tea://green"]
        assert (await server.read("tea://green")).text == "green tea"
        with pytest.raises(CommandError, match="refused this"):
            await server.read("tea://none")


@pytest.mark.slow
@both
async def test_a_tool_that_fails_says_so(by: str) -> None:
    async with reached(by) as server:
        assert (await server.call("fail", {}, print)).is_error


@pytest.mark.slow
async def test_a_call_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    begun, note = tmp_path / "begun", tmp_path / "note"
    async with connected(entry_of(local("helpful.py"))) as server:
        server.seconds = 0.5
        with pytest.raises(CommandError, match="did not answer within"):
            await server.call("wait", {"begun": str(begun), "ended": str(note)}, print)


@pytest.mark.slow
@pytest.mark.proves("tool-server:dies")
async def test_a_server_that_dies_costs_one_call_and_is_connected_again() -> None:
    async with connected(entry_of(local("helpful.py"))) as server:
        with pytest.raises(CommandError, match="ended before it had answered: look whether the call took effect"):
            await server.call("die", {}, print)
        await until(lambda: server.state.condition == "away")
        with pytest.raises(CommandError, match="cannot be reached now: it ended"):
            await server.call("echo", {"text": "too early"}, print)
        await until(lambda: server.state.condition == "connected")
        assert (await server.call("echo", {"text": "back"}, print)).text == "back"


@pytest.mark.slow
@pytest.mark.proves("tool-server:variables")
async def test_a_server_sees_only_the_variables_that_its_entry_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-signoff")
    async with connected(entry_of(local("helpful.py", TEA="green"))) as server:
        seen = (await server.call("variables", {}, print)).text
    assert "TEA=green" in seen
    assert "sk-of-signoff" not in seen
    assert {line.split("=")[0] for line in seen.splitlines()} <= {
        *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TEA", "LC_CTYPE", "PWD")
    }


@pytest.mark.slow
async def test_the_end_of_a_server_is_the_end_of_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    async with connected(entry_of(local("helpful.py"))) as server:
        await server.call("fork", {"note": str(child)}, print)
        number = int(child.read_text())
        os.kill(number, 0)
    await until(lambda: not is_running(number))


@pytest.mark.proves("tool-server:floods")
@pytest.mark.parametrize("how", ["flood", "drip"])
async def test_a_flood_closes_the_connection_and_costs_little(how: str) -> None:
    async with connected(replace(entry_of(local("hostile.py", how)), name="hostile")) as server:
        before = resource.getrusage(resource.RUSAGE_SELF)
        with pytest.raises(CommandError, match="more than"):
            await server.call("get tea now", {}, print)
        after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3
    assert (after.ru_maxrss - before.ru_maxrss) * 1024 < 100_000_000


@pytest.mark.slow
async def test_a_server_that_does_not_end_by_itself_is_ended_however_often_its_connection_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(mcp_server, "CANCEL_SECONDS", 0.05)
    stays = """
        import atexit, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        atexit.register(time.sleep, 1000)
        (HERE / "number").write_text(str(os.getpid()))
    """
    async with connected(entry_of(program(tmp_path, stays))):
        number = int((tmp_path / "number").read_text())
        assert is_running(number)
    assert not is_running(number)


async def test_a_server_that_floods_before_it_answers_is_away() -> None:
    server = McpServer(entry=entry_of(local("hostile.py", "idle")), clock=CLOCK, seconds=PATIENCE_SECONDS)
    assert await server.connect_once() == "sent a message of more than 4,194,304 bytes"


async def test_a_program_that_is_not_there_is_told() -> None:
    server = McpServer(entry=entry_of(LocalProgram(command="/no/such")), clock=CLOCK, seconds=PATIENCE_SECONDS)
    assert await server.connect_once() == "cannot be started: there is no such program or folder"


@pytest.mark.slow
async def test_a_changed_list_is_taken_over() -> None:
    async with connected(entry_of(local("changing.py"))) as server:
        assert server.tools[0].description == "Pour black tea."
        await server.call("change", {}, print)
        await until(lambda: any("everybody" in each.description for each in server.tools))


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
async def test_a_server_without_tools_still_has_resources() -> None:
    async with connected(entry_of(local("library.py"))) as server:
        assert not server.tools
        assert [each.uri for each in await server.list_resources()] == ["tea://green"]


@pytest.mark.slow
async def test_a_server_that_reads_no_more_keeps_nobody_from_stopping_and_is_started_again() -> None:
    async with connected(entry_of(local("hostile.py", "deaf"))) as server:
        calls = [asyncio.create_task(server.call("wide", {"cup1": "x" * 500_000}, print)) for _ in range(3)]
        await asyncio.wait(calls, timeout=0.5)
        begun = CLOCK.elapsed()
        for each in calls:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert CLOCK.elapsed() - begun < 4  # the SDK alone waits for five seconds
        await until(lambda: server.state.condition == "away")
        assert server.state.why == "reads nothing any more, so it was given up"
        await until(lambda: server.state.condition == "connected")


WRONG = """
def tools(cursor):
    return {"tools": [{"name": "pour", "inputSchema": NONE}, {"name": "spill", "inputSchema": "none"}]}
"""


@pytest.mark.slow
async def test_a_tool_that_is_described_wrongly_takes_no_other_with_it(tmp_path: Path) -> None:
    async with connected(entry_of(program(tmp_path, WRONG))) as server:
        assert [each.name for each in server.tools] == ["pour"]
        assert server.unreadable == ("'spill'",)
