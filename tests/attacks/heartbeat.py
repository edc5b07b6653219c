"""Measures for how long one event loop computes without a pause, however busy or slow the machine is."""

import asyncio
from dataclasses import dataclass
from time import thread_time
from types import TracebackType
from typing import Self

TICK_SECONDS = 0.005
REFERENCE_SECONDS = 0.013  # for `_compute`, on the machine that the limits of the tests are meant for


@dataclass(slots=True)
class Heartbeat:
    """Context manager; `longest`: the most seconds that the loop's thread computed between two ticks of the loop.

    On a machine that is slower than the one that the limits are meant for, these are that machine's seconds.
    """

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
        self.longest /= max(1.0, min(_compute() for _ in range(3)) / REFERENCE_SECONDS)

    def _tick(self) -> None:
        self._measure()
        self.timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _measure(self) -> None:
        now = thread_time()
        self.longest, self.last = max(self.longest, now - self.last), now


def _compute() -> float:
    """The seconds that this thread takes to compute a fixed amount."""
    before = thread_time()
    lengths, total = dict[int, int](), 0
    for number in range(100_000):
        lengths[number % 1024] = total
        total += len(str(number))
    return thread_time() - before
