"""Database tables. A column `data` holds the complete value as JSON; most other columns copy parts of it for queries.

These columns are not copies: `revision`, the `shown_…` columns of turns, `notes.taken_into`, `notices.told`,
`memories.place` (the index key) and `memories.vector`. Tables without `data` hold everything in their columns.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

Convert: TypeAlias = Callable[[Any], Any]
UNSTORABLE = re.compile(r"[\\\x00\ud800-\udfff]")
ESCAPE = re.compile(r"\\([0-9a-f]{4})")


def to_storable(value: str | None) -> str | None:
    if not value or (value.isascii() and "\\" not in value and "\0" not in value):
        return value
    return UNSTORABLE.sub(lambda found: f"\\{ord(found[0]):04x}", value)


def from_storable(value: str | None) -> str | None:
    if not value or "\\" not in value:
        return value
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), value)


class AnyText(TypeDecorator[str]):
    r"""Text column for any string. NUL and lone surrogates, which databases reject, and \ are stored as \xxxx."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return to_storable(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return from_storable(value)

    def bind_processor(self, dialect: Dialect) -> Convert:  # without the calls that SQLAlchemy puts around both
        return to_storable

    def result_processor(self, dialect: Dialect, coltype: object) -> Convert:
        return from_storable


class UtcDateTime(TypeDecorator[datetime]):
    """Column of UTC datetimes. SQLite returns naive ones, PostgreSQL those of its own time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and (value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC))


# No bind parameters: SQLite uses a partial index only if the query contains the index condition literally. No IN of
# three values: SQLite makes a temporary table of them for each change of a row, which took most of its time.
AWAKE = text("(status = 'thinking' OR status = 'awaiting' OR status = 'acting')")
AT_REST = text("status IN ('paused', 'stopped', 'finished')")
REMINDING = text("status NOT IN ('thinking', 'acting') AND thread IS NOT NULL AND wake_at IS NOT NULL")
SCHEDULED = text("scheduled_at IS NOT NULL")
LISTED = text("(archived_at IS NULL OR archived_at < since)")
ARCHIVED = text("archived_at >= since")
READ = text("is_listed")  # what people read in the decision log
RESTING = text("status != 'thinking' AND status != 'awaiting' AND status != 'acting' AND thread IS NOT NULL")

metadata = MetaData()


def _keys() -> tuple[Column[str], ...]:
    """The key columns of an agent's record: id, channel, agent. Deleting the agent deletes the record."""
    owner = Column("agent_id", AnyText, ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)
    return Column("id", AnyText, primary_key=True), Column("channel", AnyText, nullable=False), owner


agents = Table(
    "agents",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("channel", AnyText, nullable=False),
    Column("surface", AnyText, nullable=False),
    Column("workspace", AnyText, nullable=False),
    Column("thread", AnyText),
    Column("owner", AnyText, nullable=False),
    Column("name_key", AnyText, nullable=False),
    Column("status", AnyText, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("wake_at", UtcDateTime),
    Column("archived_at", UtcDateTime),
    Column("scheduled_at", UtcDateTime),
    Column("fence", Integer, nullable=False),
    Column("revision", Integer, nullable=False, default=1),
    Column("data", Text, nullable=False),
    UniqueConstraint("channel", "name_key", name="agents_named"),
    Index("agents_listed", "channel", "status", "since", "archived_at", sqlite_where=LISTED, postgresql_where=LISTED),
    Index("agents_archived", "channel", "archived_at", "since", sqlite_where=ARCHIVED, postgresql_where=ARCHIVED),
    Index("agents_reminding", "surface", "wake_at", sqlite_where=REMINDING, postgresql_where=REMINDING),
    Index("agents_scheduled", "surface", "scheduled_at", sqlite_where=SCHEDULED, postgresql_where=SCHEDULED),
    Index("agents_in_thread", "channel", "thread"),
    Index("agents_owned", "owner", "workspace"),
    Index("agents_awake", "surface", "status", "wake_at", sqlite_where=AWAKE, postgresql_where=AWAKE),
    Index("agents_resting", "surface", "since", sqlite_where=RESTING, postgresql_where=RESTING),
)

turns = Table(
    "turns",
    metadata,
    *_keys(),
    Column("number", Integer, nullable=False),
    Column("state", AnyText, nullable=False),
    Column("stage", AnyText, nullable=False),
    Column("shown_stage", AnyText, nullable=False, default=""),
    Column("shown_as", AnyText, nullable=False, default=""),
    Column("shown_at", UtcDateTime),
    Column("shown_hash", AnyText, nullable=False, default=""),
    Column(
        "unshown", Boolean, Computed("stage != shown_stage", persisted=True)
    ),  # planners cannot estimate the comparison
    Column("revision", Integer, nullable=False, default=1),
    Column("data", Text, nullable=False),
    UniqueConstraint("agent_id", "number", name="turns_numbered"),
    Index("turns_in", "channel", "id"),
)
UNSHOWN = turns.c.unshown
Index("turns_unshown", turns.c.agent_id, turns.c.number, sqlite_where=UNSHOWN, postgresql_where=UNSHOWN)

notes = Table(
    "notes",
    metadata,
    *_keys(),
    Column("at", UtcDateTime, nullable=False),
    Column("taken_into", AnyText),
    Column("data", Text, nullable=False),
    Index("notes_of", "agent_id", "at"),
)
WAITING = notes.c.taken_into.is_(None)
Index("notes_waiting", notes.c.agent_id, notes.c.at, sqlite_where=WAITING, postgresql_where=WAITING)

notices = Table(
    "notices",
    metadata,
    *_keys(),
    Column("at", UtcDateTime, nullable=False),
    Column("told", Boolean, nullable=False, default=False),
    Column("data", Text, nullable=False),
    Index("notices_of", "agent_id", "at"),
)
UNTOLD = ~notices.c.told
Index("notices_untold", notices.c.agent_id, notices.c.at, sqlite_where=UNTOLD, postgresql_where=UNTOLD)

texts = Table(  # what people search of agents, turns and notes, folded; `kind`: Agent, Turn or Note
    "texts",
    metadata,
    Column("kind", AnyText, primary_key=True),
    Column("id", AnyText, primary_key=True),
    Column("channel", AnyText, nullable=False),
    Column("agent_id", AnyText, ForeignKey("agents.id", ondelete="CASCADE"), nullable=False),
    Column("folded", AnyText, nullable=False),
    Index("texts_of", "agent_id"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Index("deliveries_at", "at"),
    sqlite_with_rowid=False,
)

audit = Table(  # a hash chain for each channel: see decision_log/chain.py
    "audit",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("channel", AnyText, nullable=False),
    Column("agent_id", AnyText, nullable=False),  # no foreign key: entries survive the agent
    Column("at", UtcDateTime, nullable=False),
    Column("data", Text, nullable=False),
    Column("seq", Integer),  # NULL, with the next two, in entries of older releases, which are outside the chain
    Column("texts", Text),  # also NULL once the agent is deleted
    Column("hash", Text),
    Column("is_listed", Boolean, nullable=False, default=True),
    Index("audit_of", "agent_id", "at"),
    Index("audit_in", "channel", "at", sqlite_where=READ, postgresql_where=READ),
    Index("audit_chain", "channel", "seq", unique=True),
)

audit_heads = Table(  # where the chain of each channel begins, after the retention, and ends
    "audit_heads",
    metadata,
    Column("channel", AnyText, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("first_previous", Text, nullable=False),
)

preferences = Table(
    "preferences",
    metadata,
    Column("channel", AnyText, primary_key=True),
    Column("key", AnyText, primary_key=True),
    Column("text", AnyText, nullable=False),
)

installations = Table(
    "installations",
    metadata,
    Column("surface", AnyText, primary_key=True),
    Column("workspace", AnyText, primary_key=True),
    Column("name", AnyText, nullable=False),
    Column("sealed", AnyText, nullable=False),
    Column("installed_at", UtcDateTime, nullable=False),
)

NO_INDEX_KEY = ""  # the `place` of a memory without a vector
memories = Table(
    "memories",
    metadata,
    *_keys(),
    Column("at", UtcDateTime, nullable=False),
    Column("place", AnyText, nullable=False),
    Column("data", Text, nullable=False),
    Column("vector", LargeBinary),  # the last column, so that SQLite reads the others without it
    Index("memories_of", "agent_id", "channel", "id"),
    Index("memories_in", "agent_id", "channel", "place", "id"),
    Index("memories_placed", "place", "agent_id"),
)

memory_changes = Table(
    "memory_changes",
    metadata,
    Column("agent_id", AnyText, ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
    Column("channel", AnyText, nullable=False),
    Column("added", BigInteger, nullable=False),
    Column("removed", BigInteger, nullable=False),
)

deletions = Table(
    "deletions",
    metadata,
    Column("agent_id", AnyText, primary_key=True),  # no foreign key: the agent is deleted
    Column("channel", AnyText, nullable=False),
    Column("head", AnyText),
    Column("index_name", AnyText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

form_drafts = Table(
    "form_drafts",
    metadata,
    Column("channel", AnyText, primary_key=True),
    Column("person", AnyText, primary_key=True),
    Column("key", AnyText, primary_key=True),
    Column("agent_id", AnyText, ForeignKey("agents.id", ondelete="CASCADE")),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("data", Text, nullable=False),
    Index("form_drafts_of", "agent_id"),
    Index("form_drafts_expire", "expires_at"),
)

budgets = Table(
    "budgets",
    metadata,
    Column("channel", AnyText, primary_key=True),
    Column("allowed", BigInteger),
    Column("spent", BigInteger, nullable=False),
    Column("estimated", BigInteger, nullable=False, default=0),
)

spending_days = Table(  # what all agents together spent; `day` in UTC
    "spending_days",
    metadata,
    Column("day", AnyText, primary_key=True),
    Column("channel", AnyText, primary_key=True),
    Column("model", AnyText, primary_key=True),
    Column("cost", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

reservations = Table(
    "reservations",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("channel", AnyText, nullable=False),
    Column("agent_id", AnyText),  # no foreign keys: the channel pays for a deleted agent
    Column("root_id", AnyText),
    Column("worker", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("model", AnyText, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Index("reservations_in", "channel"),
    Index("reservations_of", "worker"),
)
