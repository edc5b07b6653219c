"""Tells the progress of a long export or import, at most every two seconds."""

from collections.abc import Callable, Generator, Iterable
from datetime import timedelta
from typing import TypeVar

from agent_core.ports.clock import Clock

T = TypeVar("T")
INTERVAL = timedelta(seconds=2)


class Progress:
    """Counts items of one kind after the other; passes a line to `tell` when two seconds have passed."""

    def __init__(self, clock: Clock, tell: Callable[[str], None]) -> None:
        self._clock, self._tell = clock, tell
        self._told_at = clock.now()
        self._kind, self._total, self._done = "", 0, 0

    def start(self, kind: str, total: int = 0) -> None:
        """Begin to count items, such as "rows exported"; 0 for an unknown total."""
        self._kind, self._total, self._done = kind, total, 0

    def add(self, number: int = 1) -> None:
        self._done += number
        if self._clock.now() - self._told_at >= INTERVAL:
            self._told_at = self._clock.now()
            of = f" of {self._total:,}" if self._total else ""
            self._tell(f"{self._done:,}{of} {self._kind}")

    def counted(self, items: Iterable[T]) -> Generator[T, None, None]:
        for item in items:
            yield item
            self.add()
