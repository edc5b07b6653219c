"""The machine's own time."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock everything asks outside tests."""

    def now(self) -> datetime:
        """The present in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the Clock that the rule points to

    async def sleep(self, seconds: float) -> None:
        """Return after that time; at once for none or less."""
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 - this is the Clock that the rule points to
