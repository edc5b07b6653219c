"""Looks up the people who let an agent run commands without asking, because their rights may have changed since."""

from dataclasses import dataclass

from agent_core.errors import DatabaseAway, PersonError, SurfaceError
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.lease import Lease
from agent_core.ports.surface import ChatSurface


@dataclass(frozen=True, slots=True, kw_only=True)
class Granters:
    """The people whose permission an agent uses, with their current rights.

    `owner` chose the classes that need no approval, `granter` granted the lease. Each is None if the agent does not use
    the permission, or if the platform gave no answer.
    """

    owner: Actor | None = None
    granter: Actor | None = None
    lease: Lease | None = None

    def granter_of(self, lease: Lease) -> Actor | None:
        """Who granted this lease, with the rights that were just looked up; None if the platform gave no answer.

        For a lease that was granted after the look-up, the rights are those saved in the lease.
        """
        is_known = self.lease is not None and self.lease.granted_at == lease.granted_at
        return self.granter if is_known else lease.granted_by


async def look_up_granters(surface: ChatSurface, agent: Agent) -> Granters:
    """Ask the platform about the people whose permission the agent may use next, and about no others."""
    owner = await _look_up(surface, agent, agent.owner) if agent.policy.free else None
    granter = await _look_up(surface, agent, agent.lease.granted_by) if agent.lease else None
    return Granters(owner=owner, granter=granter, lease=agent.lease)


async def _look_up(surface: ChatSurface, agent: Agent, person: Actor) -> Actor | None:
    try:
        return await surface.actor(agent.channel, person)
    except (PersonError, SurfaceError, DatabaseAway, TimeoutError):
        return None
