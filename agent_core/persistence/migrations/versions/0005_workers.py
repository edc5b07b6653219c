"""Adds the workers, and the agents that each of them has claimed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("process", sa.Text, nullable=False),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("accepts", sa.Boolean, nullable=False),
    )
    op.create_table(
        "claims",
        sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("worker_id", sa.Text, sa.ForeignKey("workers.id", ondelete="CASCADE"), nullable=False),
    )
    op.create_index("claims_of", "claims", ["worker_id"])
