"""Adds when an agent's next run is due, and the index by which agents are found whose run is due."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("agents", sa.Column("scheduled_at", sa.DateTime(timezone=True)))
    where = sa.text("scheduled_at IS NOT NULL")
    op.create_index(
        "agents_scheduled", "agents", ["surface", "scheduled_at"], sqlite_where=where, postgresql_where=where
    )
