"""Looks up the people who let an agent run commands without asking, because their rights may have changed since."""

from dataclasses import dataclass

from agent_core.errors import DatabaseAway, PersonError, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.lease import Lease
from agent_core.model.origin import Actor
from agent_core.ports.surface import ChatSurface


@dataclass(frozen=True, slots=True, kw_only=True)
class Granters:
    """The people whose permission an agent uses, with their current rights.

    `chooser` chose the classes that need no approval, `granter` granted the lease. Each is None if the agent does not
    use the permission, or if the platform gave no answer.
    """

    chooser: Actor | None = None
    granter: Actor | None = None
    lease: Lease | None = None

    def chooser_of(self, agent: Agent) -> Actor | None:
        """Who chose the agent's free classes, with the rights that were just looked up.

        None if the platform gave no answer, or if another person has chosen them since.
        """
        return self.chooser if self.chooser and self.chooser.id == agent.free_chooser.id else None

    def granter_of(self, lease: Lease) -> Actor | None:
        """Who granted this lease, with the rights that were just looked up; None if the platform gave no answer.

        For a lease that was granted after the look-up, the rights are those saved in the lease.
        """
        is_known = self.lease is not None and self.lease.granted_at == lease.granted_at
        return self.granter if is_known else lease.granted_by


async def look_up_granters(surface: ChatSurface, agent: Agent) -> Granters:
    """Ask the platform about the people whose permission the agent may use next, and about no others."""
    chooser = await _look_up(surface, agent, agent.free_chooser) if agent.policy.free else None
    granter = await _look_up(surface, agent, agent.lease.granted_by) if agent.lease else None
    return Granters(chooser=chooser, granter=granter, lease=agent.lease)


async def _look_up(surface: ChatSurface, agent: Agent, person: Actor) -> Actor | None:
    try:
        return await surface.actor(agent.channel, person)
    except (PersonError, SurfaceError, DatabaseAway, TimeoutError):
        return None
