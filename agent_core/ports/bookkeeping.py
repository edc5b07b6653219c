"""Repositories for platform deliveries (deduplication), the decision log (audit log) and preferences."""

from datetime import datetime
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId


class Deliveries(Protocol):
    """Remembers which platform events have been processed, so that a repeated event has no effect."""

    async def first_time(self, delivery: str, at: datetime) -> bool:
        """Record the delivery id in this unit of work; return False if it was processed before.

        If two units of work record the same id, the second commit raises Conflict.
        """

    def forget(self, before: datetime) -> None:
        """Delete ids recorded before that time; platforms do not resend events that old."""


class Audit(Protocol):
    """The decision log (audit log) of each channel: append-only. Entries survive the deletion of their agent."""

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        """The agent's entries, oldest first."""

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        """All entries of the channel, oldest first, even those about the channel itself and about deleted agents."""

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        """The newest `last` entries of the channel, newest first.

        `before`: an entry's id; only older entries are returned, and none if the channel has no entry with that id.
        `agent_id`: only entries of that agent are returned.
        """

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        """The next `first` entries of the same agent after this one, oldest first."""

    def append(self, entry: AuditEntry) -> None:
        """Add an entry."""


class Preferences(Protocol):
    """Short texts by channel and key, for example the last settings of a form or a person's name."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        """The text saved for the key, or None."""

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        """Save a text; it replaces the key's previous one. The commit raises no Conflict: the last write wins."""
