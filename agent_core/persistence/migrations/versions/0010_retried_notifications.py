"""Lets the index of agents that remind people also find agents at rest, whose messages are still to be taken back."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
BEFORE = "status IN ('awaiting', 'paused') AND thread IS NOT NULL AND wake_at IS NOT NULL"
REMINDING = "status NOT IN ('thinking', 'acting') AND thread IS NOT NULL AND wake_at IS NOT NULL"


def upgrade() -> None:
    _recreate(REMINDING)


def downgrade() -> None:
    _recreate(BEFORE)


def _recreate(condition: str) -> None:
    where = sa.text(condition)
    op.drop_index("agents_reminding", "agents")
    op.create_index("agents_reminding", "agents", ["surface", "wake_at"], sqlite_where=where, postgresql_where=where)
