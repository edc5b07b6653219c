"""The clock port: current time and sleeping, behind a protocol so that tests can control the time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of the current time and of timers in the core."""

    def now(self) -> datetime:
        """The current time, timezone-aware in UTC."""

    def elapsed(self) -> float:
        """Seconds on a clock that is never set, and that goes on while the process or the machine is suspended."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
