"""Which queries often take long, so that they are run in a thread at once."""

import time
from collections.abc import Callable

from sqlalchemy import Executable

REMEMBERED_SECONDS = 300.0
MAX_QUERIES = 200
LONG_WEIGHT, MAX_WEIGHT = 2, 6  # on a busy machine any query may take long now and then


class LongQueries:
    """Weighs each query: a long run counts twice as much as a short one. `elapsed`: seconds that only grow."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._weights: dict[Executable, tuple[int, float]] = {}  # each with the time at which it is forgotten

    def holds(self, query: Executable) -> bool:
        """Whether the query took long more often than every third time, lately."""
        return query in self._weights and self.weight(query) >= MAX_WEIGHT

    def weight(self, query: Executable) -> int:
        """From 0 to MAX_WEIGHT."""
        weight, until = self._weights.get(query, (0, 0.0))
        return weight if self._elapsed() < until else 0

    def note_short(self, query: Executable) -> None:
        if query in self._weights:
            self._weigh(query, -1)

    def note_long(self, query: Executable) -> None:
        self._weigh(query, LONG_WEIGHT)

    def _weigh(self, query: Executable, change: int) -> None:
        changed = min(MAX_WEIGHT, self.weight(query) + change)
        self._weights.pop(query, None)
        if changed > 0:
            self._weights[query] = changed, self._elapsed() + REMEMBERED_SECONDS
        if len(self._weights) > MAX_QUERIES:
            del self._weights[next(iter(self._weights))]
