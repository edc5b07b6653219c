"""Write priority: background writes of agents wait for writes that a person waits for."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

MAX_AGENT_WRITES = 2
MAX_YIELD_SECONDS = 0.5
IS_AWAITED: ContextVar[bool] = ContextVar("is_awaited", default=False)


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class WritePriority:
    """Shared by the service (people) and the loop (agents) of one process.

    At most two agents write at a time, and each waits up to 0.5 s while people write: otherwise a burst of clicks
    starts hundreds of agents, and the next click would wait for seconds. `IS_AWAITED` tells the database adapter that a
    person waits.
    """

    people: int = 0
    no_people: asyncio.Event = field(default_factory=_set_event)
    agent_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_AGENT_WRITES))

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """A person waits for the writes in the block."""
        self.people += 1
        self.no_people.clear()
        before = IS_AWAITED.set(True)
        try:
            yield
        finally:
            IS_AWAITED.reset(before)
            self.people -= 1
            if not self.people:
                self.no_people.set()

    @asynccontextmanager
    async def background(self) -> AsyncIterator[None]:
        """The writes in the block are in the background: wait for a slot and for people's writes."""
        async with self.agent_slots:
            if self.people:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_YIELD_SECONDS):
                        await self.no_people.wait()
            yield
