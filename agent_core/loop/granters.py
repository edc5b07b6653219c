"""Who allowed an agent to go on unasked, as their platform knows them now: rights may have changed since."""

from dataclasses import dataclass

from agent_core.errors import PersonError, SurfaceError
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.lease import Lease
from agent_core.ports.surface import ChatSurface


@dataclass(frozen=True, slots=True, kw_only=True)
class Granters:
    """The owner, who chose the classes that need no approval, and who granted the lease; None where nobody can say."""

    owner: Actor | None = None
    lender: Actor | None = None
    lease: Lease | None = None

    def lender_of(self, lease: Lease) -> Actor | None:
        """Who granted it, as they are now; a lease that was granted after the look-up is by somebody with the right."""
        is_known = self.lease is not None and self.lease.granted_at == lease.granted_at
        return self.lender if is_known else lease.granted_by


async def look_up_granters(surface: ChatSurface, agent: Agent) -> Granters:
    """Ask the platform about those whose permission the agent may use next, and about nobody else."""
    owner = await _look_up(surface, agent, agent.owner) if agent.policy.free else None
    lender = await _look_up(surface, agent, agent.lease.granted_by) if agent.lease else None
    return Granters(owner=owner, lender=lender, lease=agent.lease)


async def _look_up(surface: ChatSurface, agent: Agent, person: Actor) -> Actor | None:
    try:
        return await surface.actor(agent.channel, person)
    except (PersonError, SurfaceError, TimeoutError):
        return None
