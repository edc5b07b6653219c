"""Room for so many agents to be carried on at a time, so that who clicks is answered before who works."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PLACES = 3


@dataclass(slots=True)
class Place:
    """One agent's place in the room; it is given up while the agent waits for a model or a command."""

    free: asyncio.Semaphore
    is_held: bool = False

    async def take(self) -> None:
        """Wait until there is a place."""
        await self.free.acquire()
        self.is_held = True

    def leave(self) -> None:
        """Let another have it."""
        if self.is_held:
            self.is_held = False
            self.free.release()

    @asynccontextmanager
    async def left(self) -> AsyncIterator[None]:
        """Outside while the block lasts."""
        self.leave()
        try:
            yield
        finally:
            await self.take()


@dataclass(frozen=True, slots=True)
class Room:
    """A burst of clicks sets hundreds of agents to work at once; in turns they leave the clicks behind them time."""

    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PLACES))

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Place]:
        """Inside while the block lasts."""
        place = Place(self.free)
        await place.take()
        try:
            yield place
        finally:
            place.leave()
