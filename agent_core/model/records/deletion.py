"""Records of what is left to remove of a deleted agent outside the database, and how long old agents are kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.memory import MemorySpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A deleted agent whose index entries and files are to be removed.

    `head`: its root agent, None if it was one itself. Only a root agent has a workspace.
    `index`: the name of the index that may have entries; "" if that is not known.
    """

    agent_id: AgentId
    channel: ChannelScope
    head: AgentId | None
    index: str
    at: datetime

    @classmethod
    def of(cls, agent: Agent, index: str, at: datetime) -> Self:
        return cls(agent_id=agent.id, channel=agent.channel, head=agent.head, index=index, at=at)

    @property
    def home(self) -> AgentId:
        return self.head or self.agent_id

    @property
    def space(self) -> MemorySpace:
        return MemorySpace(self.channel, self.agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many days agents at rest and entries of the decision log are kept; None is for ever."""

    history_days: int | None = None
    audit_days: int | None = None

    def deletion_date(self, agent: Agent, helpers: Iterable[Agent] = ()) -> datetime | None:
        """When the agent is deleted if it and its helpers stay at rest; None for never, for a helper, before a run."""
        family = (agent, *helpers)
        stays = agent.head or agent.scheduled_at
        if self.history_days is None or stays or not all(each.is_at_rest for each in family):
            return None
        return max(each.since for each in family) + timedelta(days=self.history_days)


KEEP_ALL = Retention()
