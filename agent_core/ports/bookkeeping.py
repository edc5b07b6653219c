"""Repositories for platform deliveries (deduplication), the decision log (audit log), forms and preferences."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.draft import FormDraft
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.deletion import Deletion


class Deliveries(Protocol):
    """Remembers which platform events have been processed, so that a repeated event has no effect."""

    async def first_time(self, delivery: str, at: datetime) -> bool:
        """Record the delivery id in this unit of work; return False if it was processed before.

        If two units of work record the same id, the second commit raises Conflict.
        """

    def forget(self, before: datetime) -> None:
        """Delete ids recorded before that time; platforms do not resend events that old."""


class Audit(Protocol):
    """The decision log (audit log) of each channel. Entries survive the deletion of their agent.

    It is append-only: nothing changes an entry, and only the operator's retention removes the oldest.
    """

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

    async def list_expired(self, before: datetime, *, most: int) -> tuple[str, ...]:
        """The ids of up to `most` entries of all channels that are older than `before`, oldest first."""

    def append(self, entry: AuditEntry) -> None:
        """Add an entry."""

    def expire(self, ids: Sequence[str]) -> None:
        """Delete entries by id."""


class Deletions(Protocol):
    """Deleted agents of which index entries or files may be left. A row is saved with the deletion of its agent."""

    async def page(self, *, most: int, after: str = "") -> tuple[Deletion, ...]:
        """Up to `most` deletions, sorted by the agent's id, starting after the id `after`."""

    def add(self, deletion: Deletion) -> None:
        """Save a deletion."""

    def finish(self, deletions: Sequence[Deletion]) -> None:
        """Delete the rows: nothing is left. Does nothing for one that is not there."""

    async def empty_journal(self) -> bool:
        """Remove what deleted rows leave in the database's own journal, if it has one of this kind (SQLite's WAL).

        Return False if that is not possible now because the database is in use.
        """


class FormDrafts(Protocol):
    """Filled-in forms that a button opens again. Each is found only by its person, in its channel, until it expires."""

    async def get(self, channel: ChannelScope, person: str, key: str, now: datetime) -> FormDraft | None:
        """The form of this person in this channel, or None if there is none or it has expired.

        Raise UnreadableRecord if a newer release saved it in a form that this one does not know.
        """

    def put(self, form: FormDraft) -> None:
        """Save a form; it replaces the person's previous one with the key.

        Of more than MAX_FORMS, and of more than MAX_FORMS_OF_PERSON of one person, the oldest are deleted.
        Raise InvalidInput if it is too long. The commit raises Conflict only if the form's agent was deleted.
        """

    async def expire(self, now: datetime) -> bool:
        """Delete expired forms in this unit of work; return whether there are any."""


class Preferences(Protocol):
    """Short texts by channel and key, for example the last settings of a form or a person's name."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        """The text saved for the key, or None."""

    async def list_by_prefix(self, channel: ChannelScope, prefix: str) -> Mapping[str, str]:
        """The texts of the channel's keys that begin with `prefix`, by key."""

    def add(self, channel: ChannelScope, key: str, text: str) -> None:
        """Save the first text of a key; the commit raises Conflict if it has one."""

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        """Save a text; it replaces the key's previous one. The commit raises no Conflict: the last write wins."""
