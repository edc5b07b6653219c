"""Write priority: writes that a person waits for go before the background writes of agents."""

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
    """Delays agents' writes while people's writes run. The service and the loop of one process share an instance.

    At most two agents write at a time, and each first waits up to 0.5 s while people write. Without this, a burst of
    clicks would start hundreds of agents, and the next click would wait for seconds. The context variable `IS_AWAITED`
    tells the database adapter that a person waits.
    """

    people: int = 0
    no_people: asyncio.Event = field(default_factory=_set_event)
    agent_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_AGENT_WRITES))

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Mark the reads and writes in the with-block as those of a waiting person."""
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
        """Before the with-block of an agent's writes, wait for one of two slots and up to 0.5 s for people's writes."""
        async with self.agent_slots:
            if self.people:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_YIELD_SECONDS):
                        await self.no_people.wait()
            yield
