"""Records that only grow or are overwritten: deliveries, the decision log, preferences."""

from datetime import datetime
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId


class Deliveries(Protocol):
    """Which events of a platform have taken effect."""

    async def first_time(self, delivery: str, at: datetime) -> bool:
        """Claim the delivery for this unit of work; False when it has taken effect before.

        Two units that claim one delivery: the second to commit gets Conflict.
        """
        ...

    def forget(self, before: datetime) -> None:
        """Remove what took effect earlier than that: a platform has long ceased to send it again."""
        ...


class Audit(Protocol):
    """The decision log of each channel. It only grows, and outlives the agents that it tells of."""

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        """The agent's entries, oldest first."""
        ...

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        """All entries of the channel, oldest first: of its agents, of deleted ones, and about the channel itself."""
        ...

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        """The channel's newest `last` entries, newest first, or those before the entry with the id `before`.

        Only entries of one agent where `agent_id` is given. Nothing where the channel has no entry with that id.
        """
        ...

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        """The `first` entries of the same agent that come after this one, oldest first."""
        ...

    def append(self, entry: AuditEntry) -> None:
        """Add an entry."""
        ...


class Preferences(Protocol):
    """Small texts kept by channel and key: the last settings of a form, the name of a person."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        """The text, or None."""
        ...

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        """Keep a text in place of the one before. Never conflicts."""
        ...
