"""The clock port: time and timers, so that tests own the time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Current time and sleeping; the core uses no other clock."""

    def now(self) -> datetime:
        """The current time, timezone-aware in UTC."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""
