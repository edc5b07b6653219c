"""Records which platform events were received, and until when a surface has received all of them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_core.model.origin import ChannelScope, SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

DELIVERY_RETENTION = timedelta(days=30)  # platforms retry for hours, but people submit forms weeks later
RECEIVED_UNTIL_KEY = "heard until"


@dataclass(frozen=True, slots=True)
class InboundLog:
    """A record in the database, from which a restarted process knows which events it may have missed."""

    database: Database
    clock: Clock

    async def first_time(self, delivery: str) -> bool:
        """Record an event as received; return False if it was recorded before.

        Call it for events that save nothing else; other events record the delivery with what they save.
        """
        now = self.clock.now()
        return await in_one_unit(self.database, lambda work: work.deliveries.first_time(delivery, now))

    async def load_received_until(self, surface: SurfaceName, workspace: str) -> datetime | None:
        """The time up to which no event of the workspace was missed; None before the first record."""
        async with self.database.begin() as work:
            text = await work.preferences.get(_workspace_scope(surface, workspace), RECEIVED_UNTIL_KEY)
        return datetime.fromisoformat(text) if text else None

    async def save_received_until(self, surface: SurfaceName, workspace: str, until: datetime) -> None:
        """Record that no event was missed before `until`, and delete deliveries older than 30 days."""

        async def act(work: UnitOfWork) -> None:
            work.preferences.put(_workspace_scope(surface, workspace), RECEIVED_UNTIL_KEY, until.isoformat())
            work.deliveries.forget(self.clock.now() - DELIVERY_RETENTION)

        await in_one_unit(self.database, act)


def _workspace_scope(surface: SurfaceName, workspace: str) -> ChannelScope:
    return ChannelScope(surface, workspace, "")
