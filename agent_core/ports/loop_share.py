"""Bounds how long the event loop is held up: by short calls that block, and by work that begins often at once."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_HOLD_SECONDS = 0.005


async def let_others_run() -> None:
    """Let the event loop do what is due, such as sending what was shown."""
    passed = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(_end_wait, passed)
    await passed


def _end_wait(passed: "asyncio.Future[None]") -> None:
    if not passed.done():  # else the wait was cancelled
        passed.set_result(None)


@dataclass(slots=True)
class LoopShare:
    """The part of each pass of the event loop that blocking calls may take. `elapsed`: seconds that only grow."""

    elapsed: Callable[[], float] = time.perf_counter
    _pass_ends_at: float | None = None

    async def wait_for_turn(self) -> None:
        """After MAX_HOLD_SECONDS since the first call in this pass, let the loop do its other work first."""
        if self._pass_ends_at is None:
            self._pass_ends_at = self.elapsed() + MAX_HOLD_SECONDS
            asyncio.get_running_loop().call_soon(self._end_pass)
        elif self.elapsed() > self._pass_ends_at:
            await let_others_run()

    def _end_pass(self) -> None:
        self._pass_ends_at = None


@dataclass(slots=True)
class OneInEachPass:
    """Lets work begin in its order, one in each pass of the event loop.

    Work that begins a hundredfold in one pass also goes on in the same passes, and each of them takes long.
    """

    _queued: "deque[asyncio.Future[None]]" = field(default_factory=deque)
    _has_begun: bool = False

    async def wait_for_turn(self) -> None:
        """Return at once if nothing has begun in this pass."""
        if not self._has_begun:
            self._begin_one()
            return
        turn = asyncio.get_running_loop().create_future()
        self._queued.append(turn)
        await turn

    def _end_pass(self) -> None:
        while self._queued:
            turn = self._queued.popleft()
            if not turn.done():  # else the wait was cancelled
                turn.set_result(None)
                self._begin_one()
                return
        self._has_begun = False

    def _begin_one(self) -> None:
        self._has_begun = True
        asyncio.get_running_loop().call_soon(self._end_pass)
