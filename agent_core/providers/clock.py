"""The clock port on the system's clock and asyncio's timers."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime

# Linux counts a suspended machine's time only on CLOCK_BOOTTIME; on macOS and BSD, CLOCK_MONOTONIC does.
ELAPSED: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class SystemClock:
    """Implements `Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the Clock that the rule points to

    def elapsed(self) -> float:
        return time.clock_gettime(ELAPSED)

    async def sleep(self, seconds: float) -> None:
        """Sleep; return at once for 0 or less."""
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 - this is the Clock that the rule points to
