"""Who clicks goes before who works: saving what people do does not wait behind the work that it makes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

DESKS = 2
PATIENCE = 0.5
IS_AWAITED: ContextVar[bool] = ContextVar("is_awaited", default=False)


def _open() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class WritePriority:
    """Shared by what people call and what moves agents on, in one process.

    At most two agents save at a time, and each lets people go first for up to half a second: a burst of clicks sets
    hundreds of agents to work, and the next click would wait for seconds. `IS_AWAITED` tells a database the same.
    """

    people: int = 0
    nobody: asyncio.Event = field(default_factory=_open)
    desks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(DESKS))

    @contextmanager
    def first(self) -> Iterator[None]:
        """Somebody waits for what is done in the block."""
        self.people += 1
        self.nobody.clear()
        before = IS_AWAITED.set(True)
        try:
            yield
        finally:
            IS_AWAITED.reset(before)
            self.people -= 1
            if not self.people:
                self.nobody.set()

    @asynccontextmanager
    async def after(self) -> AsyncIterator[None]:
        """Nobody waits for what is done in the block."""
        async with self.desks:
            if self.people:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        await self.nobody.wait()
            yield
