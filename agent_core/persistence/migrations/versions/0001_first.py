"""Creates the first tables: agents, turns, notes, notices, deliveries, audit and preferences."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _agents()
    _turns()
    _notes()
    _notices()
    _ledgers()


def _owner() -> sa.Column[str]:
    return sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.id", ondelete="CASCADE"), nullable=False)


def _partial(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _agents() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("surface", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("wake_at", sa.DateTime(timezone=True)),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.UniqueConstraint("channel", "name_key", name="agents_named"),
    )
    op.create_index("agents_census", "agents", ["channel", "status"])
    _partial("agents_working", "agents", ["surface", "wake_at"], "status IN ('thinking', 'acting')")


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        _owner(),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("shown_stage", sa.Text, nullable=False),
        sa.Column("shown_as", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.UniqueConstraint("agent_id", "number", name="turns_numbered"),
    )
    _partial("turns_unshown", "turns", ["agent_id", "number"], "stage != shown_stage")


def _notes() -> None:
    op.create_table(
        "notes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        _owner(),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken_into", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("notes_of", "notes", ["agent_id", "at"])
    _partial("notes_waiting", "notes", ["agent_id", "at"], "taken_into IS NULL")


def _notices() -> None:
    op.create_table(
        "notices",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        _owner(),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told", sa.Boolean, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("notices_of", "notices", ["agent_id", "at"])
    is_untold = ~sa.column("told", sa.Boolean)
    op.create_index("notices_untold", "notices", ["agent_id", "at"], sqlite_where=is_untold, postgresql_where=is_untold)


def _ledgers() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        _owner(),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("audit_of", "audit", ["agent_id", "at"])
    op.create_table(
        "preferences",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
