"""Messages between processes on one PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from agent_core.persistence.server_broadcast import MAX_WAITING, ServerBroadcast
from agent_core.providers.clock import SystemClock
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer


class End:
    """A process that hears about changes."""

    def __init__(self, url: str) -> None:
        self.broadcast, self.heard = ServerBroadcast(url, SystemClock()), asyncio.Queue[str]()
        self.broadcast.subscribe("changed", self.heard.put_nowait)

    async def hears(self, key: str) -> None:
        """Wait for the message."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.heard.get() != key:
                continue

    async def listens_to(self, other: "End") -> None:
        """Wait until what the other one says arrives here: both are connected."""

        async def say() -> None:
            while True:
                other.broadcast.publish("changed", "hello")
                await SystemClock().sleep(0.05)

        saying = asyncio.create_task(say())
        await self.hears("hello")
        saying.cancel()


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


@asynccontextmanager
async def connected(url: str, number: int) -> AsyncIterator[list[End]]:
    ends = [End(url) for _ in range(number)]
    async with AsyncExitStack() as stack:
        for end in ends:
            task = asyncio.create_task(end.broadcast.run())
            stack.push_async_callback(_end, task)
        for end in ends:
            for other in ends:
                if other is not end:
                    await end.listens_to(other)
        yield ends


@pytest.mark.slow
@pytest.mark.proves("workers:messages")
async def test_a_message_reaches_all_other_processes_and_not_its_own(postgres: str) -> None:
    async with connected(postgres, 3) as (first, second, third):
        first.broadcast.publish("changed", "ada")
        await second.hears("ada")
        await third.hears("ada")
        second.broadcast.publish("changed", "end")
        await first.hears("end")
        assert first.heard.empty()


@pytest.mark.slow
async def test_a_receiver_that_fails_keeps_no_other_from_the_message(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(postgres, 2) as (first, second):

        def fail(key: str) -> None:
            raise KeyError(key)

        first.broadcast.subscribe("changed", fail)
        woken = asyncio.Queue[str]()
        first.broadcast.subscribe("changed", woken.put_nowait)
        second.broadcast.publish("changed", "ada")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await woken.get() == "ada"
    assert "a message was not received" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("key", ["a\x00b", "x" * 9_000, "\ud800"])
async def test_a_key_that_the_server_would_refuse_keeps_no_other_message_back(postgres: str, key: str) -> None:
    async with connected(postgres, 2) as (first, second):
        first.broadcast.publish("changed", key)
        first.broadcast.publish("changed", "ada")
        await second.hears("ada")


@pytest.mark.slow
@pytest.mark.proves("workers:messages")
async def test_messages_arrive_again_after_a_restart_of_the_server(own_postgres: PostgresServer) -> None:
    async with connected(own_postgres.url, 2) as (first, second):
        await own_postgres.restart("immediate")
        await second.listens_to(first)
        first.broadcast.publish("changed", "ada")
        await second.hears("ada")


def test_without_a_server_so_many_messages_wait() -> None:
    broadcast = ServerBroadcast("postgresql://nobody@127.0.0.1:1/none", SystemClock())
    for number in range(MAX_WAITING + 5):
        broadcast.publish("changed", str(number))
    assert len(broadcast._waiting) == MAX_WAITING
