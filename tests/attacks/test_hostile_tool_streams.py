"""Messages that a server cuts in pieces so that nobody counts them, and a call that is given up."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from httpx2 import AsyncByteStream, Request

from agent_core.capabilities.tool_servers.transports import MAX_MESSAGES, CountedBody, FlowLimit
from agent_core.errors import CommandError
from agent_core.providers.clock import SystemClock
from tests.attacks.bare_tool_servers import program, running, until
from tests.attacks.rows import attack

MESSAGE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'


class Chunks(AsyncByteStream):
    """A body whose chunks end in the middle of the word that is counted."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"da"
        for _ in range(4 * MAX_MESSAGES):
            yield MESSAGE[2:] + b"da"


@attack("servers", "20,000 messages over HTTP, each of which begins in the chunk before", "5,000 messages in one go")
async def test_messages_are_counted_wherever_their_chunks_end(answer: str) -> None:
    told: list[str] = []
    limit = FlowLimit(SystemClock(), told.append)
    body = CountedBody(Chunks(), limit, Request("POST", "http://tea.test/mcp"), is_stream=True)
    with pytest.raises(httpx2.ReadError):
        async for _ in body:
            pass
    assert answer in told[0]


SLOW = """
def called(params):
    (HERE / "sent").touch()
    time.sleep(30)
"""


@pytest.mark.slow
@attack("servers", "A call that is not answered in time", "look whether the call took effect")
async def test_a_call_that_is_given_up_says_that_it_may_have_taken_effect(tmp_path: Path, answer: str) -> None:
    async with running(program(tmp_path, SLOW), seconds=2) as server:
        await until(lambda: server.state.condition == "connected")
        with pytest.raises(CommandError, match=answer):
            await server.call("pour", {}, print)
    assert (tmp_path / "sent").exists()
