"""Remembers answers with buttons that become useless when the agent goes on, so that they can be deleted then."""

from dataclasses import dataclass, field
from datetime import datetime

from cachetools import LRUCache

from agent_core.model.agent import Agent, Thinking
from agent_core.model.ids import AgentId

MAX_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class DiscordOffers:
    """The newest offers by place and message id, each with its agent and the agent's `since`; lost by a restart."""

    posted: LRUCache[tuple[int, int], tuple[AgentId, datetime]] = field(
        default_factory=lambda: LRUCache(MAX_REMEMBERED)
    )

    def remember(self, agent: Agent, place: int, message: int) -> None:
        """Remember an offer that is of use while the agent stays in this state."""
        self.posted[place, message] = agent.id, agent.since

    def forget_past(self, agent: Agent, now: datetime) -> list[tuple[int, int]]:
        """Forget and return the agent's offers from before its present state, and all of them once it thinks."""
        thinks = isinstance(agent.status, Thinking) and (agent.wake_at is None or agent.wake_at <= now)
        own = [(address, since) for address, (offering, since) in self.posted.items() if offering == agent.id]
        past = [address for address, since in own if thinks or since < agent.since]
        for address in past:
            del self.posted[address]
        return past
