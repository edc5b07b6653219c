"""Limits on creating agents: who may, and how many a channel and a person may have."""

from dataclasses import dataclass

from agent_core.errors import NotPossible
from agent_core.model.origin import Origin
from agent_core.ports.database import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class CreationLimits:
    """The operator's limits. Helpers count towards the channel's limit, but not towards a person's.

    Archived agents count towards neither.
    """

    guests_may_create: bool = False
    agents_per_channel: int = 200
    agents_per_person: int = 50


DEFAULT_LIMITS = CreationLimits()


async def require_below_limits(work: UnitOfWork, origin: Origin, limits: CreationLimits) -> None:
    """Raise NotPossible if the channel, or the person in this workspace, has reached the limit."""
    here = len(await work.agents.of(origin.channel))
    if here >= limits.agents_per_channel:
        raise NotPossible(
            f"This channel has {here} agents, which is the most. Archive or delete one first: /agent archive NAME."
        )
    made = await work.agents.list_by_owner(origin.channel.surface, origin.channel.workspace, origin.by.id)
    own = sum(agent.parent is None for agent in made)
    if own >= limits.agents_per_person:
        raise NotPossible(
            f"You have made {own} agents, which is the most for one person. "
            "Archive or delete one first: /agent archive NAME."
        )
