"""Messages of a server over HTTP that are not counted, and calls that may have taken effect without a word on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from httpx2 import AsyncByteStream, Request

from agent_core.errors import CommandError
from agent_core.providers.clock import SystemClock
from agent_core.providers.mcp.flow_limit import MAX_MESSAGES, FlowLimit
from agent_core.providers.mcp.http_transport import CountedBody
from tests.attacks.bare_tool_servers import program, running, until

MESSAGE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'


class Chunks(AsyncByteStream):
    """A body whose chunks end in the middle of the word that is counted."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"da"
        for _ in range(4 * MAX_MESSAGES):
            yield MESSAGE[2:] + b"da"


async def test_messages_are_counted_wherever_their_chunks_end() -> None:
    told: list[str] = []
    limit = FlowLimit(SystemClock(), told.append)
    body = CountedBody(Chunks(), limit, Request("POST", "http://tea.test/mcp"), is_stream=True)
    with pytest.raises(httpx2.ReadError):
        async for _ in body:
            pass
    assert told


SLOW = """
def called(params):
    (HERE / "sent").touch()
    time.sleep(30)
"""


async def test_a_call_that_is_given_up_says_that_it_may_have_taken_effect(tmp_path: Path) -> None:
    async with running(program(tmp_path, SLOW), seconds=2) as server:
        await until(lambda: server.state.condition == "connected")
        with pytest.raises(CommandError, match="whether the call took effect"):
            await server.call("pour", {}, print)
    assert (tmp_path / "sent").exists()
