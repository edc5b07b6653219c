"""Lets any full member decide for an agent when its owner, who alone decided, is no longer a full member.

Only a positive answer of the platform counts: while it gives none, the owner is taken to be there.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.errors import NotFound, PersonError, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.decision import PolicyChange
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.oversight.policy import OwnerDecides
from agent_core.oversight.policy_change import change_policy, follow_policy
from agent_core.ports.database import UnitOfWork
from agent_core.ports.surface import ChatSurface
from agent_core.spending.helper_tree import list_helpers_below

LOOKUP_TIMEOUT_SECONDS = 2.0
ANYONE = PolicyChange(approvers="anyone")
NEVER_DEMOTES = ("discord",)  # a timeout of a minute makes a guest there


@dataclass(frozen=True, slots=True)
class Succession:
    """Asks the surfaces about owners; without surfaces nobody has left."""

    surfaces: Sequence[ChatSurface] = ()

    async def has_left(self, agent: Agent) -> bool:
        """Whether the platform says that the agent's owner left, or is no full member any more."""
        return await self.is_gone(agent.channel, agent.owner)

    async def is_gone(self, channel: ChannelScope, person: Actor) -> bool:
        """Whether the platform says that the person left, or is no full member any more."""
        surface = next((each for each in self.surfaces if each.name == channel.surface), None)
        if surface is None:
            return False
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                owner = await surface.actor(channel, person)
                return owner.kind != "member" and surface.name not in NEVER_DEMOTES
        except NotFound as gone:
            return gone.kind == "person"
        except (PersonError, SurfaceError, TimeoutError):
            return False


async def let_anyone_decide(work: UnitOfWork, refused: OwnerDecides, at: datetime) -> None:
    """Change the policy of the agent and its helpers, say so in the thread, and log it for the person who acted."""
    agent = await work.agents.get(refused.agent.channel, refused.agent.home)
    changed = change_policy(agent, ANYONE, refused.actor, at)
    said = f"{agent.owner} is no longer a full member here; who may approve: anyone here"
    work.audit.append(AuditEntry.on(agent, "took over", by=refused.actor, at=at, detail=said))
    work.notes.announce(Notice.to(agent, "changed", f"{refused.actor} took over: {said}.", at))
    work.agents.save(changed)
    for helper in await list_helpers_below(work, changed):
        work.agents.save(follow_policy(helper, changed))
