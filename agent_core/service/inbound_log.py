"""What a surface has heard: which deliveries took effect, and until when it surely missed nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_core.model.channels import ChannelScope, SurfaceName
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.world import Clock

KEPT_FOR = timedelta(days=30)  # the longest a platform tries again is hours; people come back to forms after weeks
KEY = "heard until"


@dataclass(frozen=True, slots=True)
class InboundLog:
    """Kept in the database, so that a process that starts knows what the one before may have missed."""

    database: Database
    clock: Clock

    async def first_time(self, delivery: str) -> bool:
        """Claim a delivery whose effect is not in the database; False when it was claimed before."""

        async def act(work: UnitOfWork) -> bool:
            return await work.deliveries.first_time(delivery, self.clock.now())

        return await in_one_unit(self.database, act)

    async def until(self, surface: SurfaceName, workspace: str) -> datetime | None:
        """When the surface was last known to hear the workspace, or None before the first time."""
        async with self.database.begin() as work:
            text = await work.preferences.get(_everywhere(surface, workspace), KEY)
        return datetime.fromisoformat(text) if text else None

    async def note(self, surface: SurfaceName, workspace: str, until: datetime) -> None:
        """Record that nothing was missed up to then, and let go of deliveries older than a month."""

        async def act(work: UnitOfWork) -> None:
            work.preferences.put(_everywhere(surface, workspace), KEY, until.isoformat())
            work.deliveries.forget(self.clock.now() - KEPT_FOR)

        await in_one_unit(self.database, act)


def _everywhere(surface: SurfaceName, workspace: str) -> ChannelScope:
    return ChannelScope(surface, workspace, "")
