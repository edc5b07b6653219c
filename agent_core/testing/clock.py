"""A fake clock: its time changes only when a test moves it."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FakeClock:
    """Implements `Clock`. Only `advance` and `set` wake sleeping tasks, in the order of their times."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._order = count()
        self._fell_asleep = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    def elapsed(self) -> float:
        return self._now.timestamp()

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved that far; return at once for 0 or less."""
        if seconds <= 0:
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + timedelta(seconds=seconds), next(self._order), woken))
        self._fell_asleep.set()
        await woken

    def advance(self, seconds: float) -> None:
        """Move the clock forward by that many seconds; wake every task whose time has come."""
        self.set(self._now + timedelta(seconds=seconds))

    def set(self, now: datetime) -> None:
        """Set the time, even to an earlier one; wake every task whose time has come."""
        self._now = now
        while self._sleepers and self._sleepers[0][0] <= now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)

    @property
    def sleeping(self) -> int:
        return sum(not woken.done() for _, _, woken in self._sleepers)

    async def until_sleeping(self, sleepers: int = 1) -> None:
        """Wait until at least that many tasks sleep."""
        while self.sleeping < sleepers:
            self._fell_asleep.clear()
            await self._fell_asleep.wait()
