"""Drops the decision log's foreign key to agents; adds to turns the hash that the card shows, and the time."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _rebuild_audit_without_key()
    op.create_index("audit_in", "audit", ["channel", "at"])
    op.add_column("turns", sa.Column("shown_at", sa.DateTime(timezone=True)))
    op.add_column("turns", sa.Column("shown_hash", sa.Text, nullable=False, server_default=""))


def _rebuild_audit_without_key() -> None:
    # SQLite cannot drop a constraint, so the table is copied on every database.
    op.drop_index("audit_of", "audit")
    op.rename_table("audit", "audit_before")
    op.create_table(
        "audit",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("agent_id", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.execute(
        "INSERT INTO audit (id, channel, agent_id, at, data) SELECT id, channel, agent_id, at, data FROM audit_before"
    )
    op.drop_table("audit_before")
    op.create_index("audit_of", "audit", ["agent_id", "at"])
