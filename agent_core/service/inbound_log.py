"""Records which platform events took effect, and until when a surface has received all events."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_core.model.channels import ChannelScope, SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

DELIVERY_RETENTION = timedelta(days=30)  # platforms retry for hours, but people submit forms weeks later
HEARD_UNTIL_KEY = "heard until"


@dataclass(frozen=True, slots=True)
class InboundLog:
    """Kept in the database, so that a restarted process knows what it may have missed."""

    database: Database
    clock: Clock

    async def first_time(self, delivery: str) -> bool:
        """Claim a delivery that changes nothing in the database; False if it was claimed before."""
        now = self.clock.now()
        return await in_one_unit(self.database, lambda work: work.deliveries.first_time(delivery, now))

    async def until(self, surface: SurfaceName, workspace: str) -> datetime | None:
        """Until when the surface has received every event of the workspace; None before the first time."""
        async with self.database.begin() as work:
            text = await work.preferences.get(_workspace_scope(surface, workspace), HEARD_UNTIL_KEY)
        return datetime.fromisoformat(text) if text else None

    async def note(self, surface: SurfaceName, workspace: str, until: datetime) -> None:
        """Record that no event was missed until then, and delete deliveries older than 30 days."""

        async def act(work: UnitOfWork) -> None:
            work.preferences.put(_workspace_scope(surface, workspace), HEARD_UNTIL_KEY, until.isoformat())
            work.deliveries.forget(self.clock.now() - DELIVERY_RETENTION)

        await in_one_unit(self.database, act)


def _workspace_scope(surface: SurfaceName, workspace: str) -> ChannelScope:
    return ChannelScope(surface, workspace, "")
