"""Many clients at once, clients that leave, and the end of the server."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import ClientSession

from adapters.mcp.stdio import MAX_LINE_BYTES, serve_pipes
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.patience import PATIENCE_SECONDS
from tests.unit.adapters.mcp.clients import HEADERS, Era, Served, call, over_http, over_pipes, serving

ASKS = reply_text("write_to_file", {"filename": "hello.txt", "text": "Hello"})


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving(ScriptedModel(*[ASKS] * 10)) as found:
        yield found


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.to_thread(os.sched_yield)


@pytest.mark.slow
@pytest.mark.proves("mcp:wait")
async def test_ten_clients_work_at_once(served: Served) -> None:
    async def work(number: int) -> str:
        async with over_http(served, "legacy" if number % 2 else "auto") as client:
            made = await call(client, "create_agent", name=f"Agent {number}", goals=["Greet"])
            ended = await call(client, "wait", agent=made["id"], seconds=600)
            return str(ended["agent"]["name"] + ended["agent"]["state"])

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await asyncio.gather(*map(work, range(10))) == [f"Agent {number}awaiting" for number in range(10)]
    assert not served.endpoint.calls


@pytest.mark.slow
@pytest.mark.proves("mcp:leaves")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_the_wait_of_a_client_that_leaves_ends(served: Served, era: Era) -> None:
    async with over_http(served, era) as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        waiting = asyncio.create_task(client.call_tool("wait", {"agent": "Ada", "until": "end", "seconds": 600}))
        await until(lambda: bool(served.surface.hub.listeners))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: not served.surface.hub.listeners and not served.endpoint.calls)


@pytest.mark.proves("mcp:leaves")
async def test_the_wait_of_a_client_that_closes_its_pipe_ends(served: Served) -> None:
    async with over_pipes(served, "legacy") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        waiting = asyncio.create_task(client.call_tool("wait", {"agent": "Ada", "until": "end", "seconds": 600}))
        await until(lambda: bool(served.surface.hub.listeners))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: not served.surface.hub.listeners)


@pytest.mark.slow
@pytest.mark.proves("mcp:leaves")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_wait_is_answered_when_the_server_ends(era: Era) -> None:
    async with serving(ScriptedModel(ASKS)) as served, over_http(served, era) as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        waiting = asyncio.create_task(call(client, "wait", agent="Ada", until="end", seconds=600))
        await until(lambda: bool(served.surface.hub.listeners))
        served.surface.hub.close()
        ended = await waiting
    assert (ended["is_over"], served.endpoint.calls) == (False, set())


@pytest.mark.slow
@pytest.mark.proves("mcp:wait")
async def test_a_wait_ends_with_its_time(served: Served) -> None:
    async with over_http(served, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        await call(client, "wait", agent="Ada")
        ended = await call(client, "wait", agent="Ada", until="end", seconds=1)
    assert (ended["is_over"], ended["agent"]["state"]) == (False, "awaiting")


async def test_calls_beyond_the_most_are_put_off(served: Served) -> None:
    served.endpoint.most_calls = 0
    async with ClientSession() as session, session.post(served.url, headers=HEADERS, data=b"{}") as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")


@pytest.mark.slow
async def test_a_message_that_is_too_long_ends_the_connection(served: Served) -> None:
    (to_server, from_client), (to_client, from_server) = os.pipe(), os.pipe()
    reads, writes = os.fdopen(to_server, "rb", 0), os.fdopen(from_server, "wb", 0)
    serving = asyncio.create_task(serve_pipes(served.endpoint.server, reads, writes))

    def write() -> None:
        with os.fdopen(from_client, "wb", 0) as ours:
            try:
                ours.write(b"x" * (50 * 2**20))
            except BrokenPipeError:
                return

    writing = asyncio.to_thread(write)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(serving, writing)
    os.close(to_client)
    assert MAX_LINE_BYTES < 50 * 2**20
