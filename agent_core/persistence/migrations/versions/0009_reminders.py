"""Adds the index by which agents are found that remind people, or that have a reminder to take back."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
REMINDING = "status NOT IN ('thinking', 'acting') AND thread IS NOT NULL AND wake_at IS NOT NULL"


def upgrade() -> None:
    where = sa.text(REMINDING)
    op.create_index("agents_reminding", "agents", ["surface", "wake_at"], sqlite_where=where, postgresql_where=where)
