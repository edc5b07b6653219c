"""Measures for how long one event loop computes without a pause, however busy the machine is."""

import asyncio
from dataclasses import dataclass
from time import thread_time
from types import TracebackType
from typing import Self

TICK_SECONDS = 0.005


@dataclass(slots=True)
class Heartbeat:
    """Context manager; `longest`: the most seconds that the loop's thread computed between two ticks of the loop."""

    longest: float = 0.0
    last: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self.last = thread_time()
        self._tick()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._measure()
        if self.timer:
            self.timer.cancel()

    def _tick(self) -> None:
        self._measure()
        self.timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _measure(self) -> None:
        now = thread_time()
        self.longest, self.last = max(self.longest, now - self.last), now
