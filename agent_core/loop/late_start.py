"""The start of a command that only reads: saved with its result, or earlier if the command does not end at once.

Such a command may run twice, so nothing is lost if the process ends before its start is saved. This spares a commit.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agent_core.errors import Conflict, DatabaseAway, NotFound, Superseded, SurfaceError

BRIEF_SECONDS = 0.25  # people see "running" on the card before the command starts, so only pages of the log change


@dataclass(slots=True, kw_only=True)
class LateStart:
    """Saves a start at most once: after BRIEF_SECONDS, or when the command has something to show.

    `save`: saves it; None for a command whose start is saved already.
    """

    save: Callable[[], Awaitable[object]] | None
    _saving: asyncio.Task[None] | None = field(default=None, repr=False)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Run the command in the with-block. At its end the start is saved or will not be saved any more."""
        if self.save is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(BRIEF_SECONDS, self._begin, self.save)
        try:
            yield
        finally:
            timer.cancel()
            if self._saving:
                await asyncio.wait([self._saving])

    async def ensure_saved(self) -> None:
        """Save the start now, unless it was; return when that has ended."""
        if self.save is not None:
            await asyncio.wait([self._begin(self.save)])

    def _begin(self, save: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        if self._saving is None:
            self._saving = asyncio.create_task(_save(save))
        return self._saving


async def _save(save: Callable[[], Awaitable[object]]) -> None:
    with suppress(Superseded, NotFound, DatabaseAway, Conflict, SurfaceError):  # the save of the result meets the same
        await save()
