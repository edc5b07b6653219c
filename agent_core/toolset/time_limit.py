"""A time limit of a command or of a call, which stands still while it waits for a model or for people."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(slots=True)
class TimeLimit:
    """`limit`: the timeout of the block that it limits; None before it has begun."""

    limit: asyncio.Timeout | None = None
    _waits: int = 0
    _left: float = 0.0

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Let no time of the limit pass inside."""
        limit, loop = self.limit, asyncio.get_running_loop()
        if limit and not self._waits and (when := limit.when()) is not None:
            self._left = when - loop.time()
            with suppress(RuntimeError):  # the call has just ended
                limit.reschedule(None)
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if limit and not self._waits:
                with suppress(RuntimeError):
                    limit.reschedule(loop.time() + self._left)
