"""One of several processes does a job; another takes over."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from agent_core.errors import EngineTaken
from agent_core.testing.clock import FakeClock
from bot.startup import STAND_BY_SECONDS, lead
from tests.patience import PATIENCE_SECONDS


@dataclass(slots=True)
class Office:
    """What can be led, by one at a time."""

    holder: "Lock | None" = None


@dataclass(eq=False, slots=True)
class Lock:
    """Implements `EngineLock` on an office."""

    office: Office
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    async def acquire(self) -> None:
        if self.office.holder not in (None, self):
            raise EngineTaken
        self.office.holder = self

    async def watch(self) -> None:
        await self.lost.wait()
        self.lost.clear()
        raise EngineTaken

    async def release(self) -> None:
        if self.office.holder is self:
            self.office.holder = None


def job_of(name: str, works: list[str], changed: asyncio.Event) -> Callable[[], "asyncio.Future[None]"]:
    async def job() -> None:
        works.append(name)
        changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            works.remove(name)

    return lambda: asyncio.ensure_future(job())


@pytest.mark.proves("workers:leader")
async def test_one_process_leads_and_the_next_takes_over_when_it_ends_or_loses_its_lock() -> None:
    office, clock, works, changed = Office(), FakeClock(), list[str](), asyncio.Event()
    locks = {name: Lock(office) for name in ("one", "two")}
    tasks = {name: asyncio.create_task(lead(job_of(name, works, changed), lock, clock)) for name, lock in locks.items()}
    async with asyncio.timeout(PATIENCE_SECONDS):
        await changed.wait()
        await clock.until_sleeping()
        assert works == ["one"]
        changed.clear()
        office.holder = locks["two"]  # the first one's session was lost
        locks["one"].lost.set()
        await clock.until_sleeping(2)
        assert works == []
        clock.advance(STAND_BY_SECONDS)
        await changed.wait()
        assert works == ["two"]
        changed.clear()
        tasks["two"].cancel()
        await asyncio.wait([tasks["two"]])
        clock.advance(STAND_BY_SECONDS)
        await changed.wait()
        assert works == ["one"]
    tasks["one"].cancel()
    await asyncio.wait([tasks["one"]])
