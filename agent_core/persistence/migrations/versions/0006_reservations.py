"""Adds the table of reserved money, and the estimated part of what channels have spent."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "reservations",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("agent_id", sa.Text),
        sa.Column("root_id", sa.Text),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("reservations_in", "reservations", ["channel"])
    op.create_index("reservations_of", "reservations", ["worker"])
    op.add_column("budgets", sa.Column("estimated", sa.BigInteger, nullable=False, server_default="0"))
