"""The clock port on the system's clock and asyncio's timers."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class SystemClock:
    """Implements `Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the Clock that the rule points to

    async def sleep(self, seconds: float) -> None:
        """Sleep; return at once for 0 or less."""
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 - this is the Clock that the rule points to
