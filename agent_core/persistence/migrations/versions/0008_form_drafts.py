"""Adds the table of filled-in forms that a button opens again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "form_drafts",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.id", ondelete="CASCADE")),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("form_drafts_of", "form_drafts", ["agent_id"])
    op.create_index("form_drafts_expire", "form_drafts", ["expires_at"])
