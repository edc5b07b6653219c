"""Adds the tables of memories, of the counters of their vectors' changes, and of channel budgets."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary),
    )
    op.create_index("memories_of", "memories", ["agent_id", "channel", "id"])
    op.create_index("memories_in", "memories", ["agent_id", "channel", "place", "id"])
    op.create_index("memories_placed", "memories", ["place", "agent_id"])
    op.create_table(
        "memory_changes",
        sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("added", sa.BigInteger, nullable=False),
        sa.Column("removed", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "budgets",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("allowed", sa.BigInteger),
        sa.Column("spent", sa.BigInteger, nullable=False),
    )
