"""Computes whether a turn's newest stage is shown: PostgreSQL cannot estimate how often two columns differ."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
DIFFER = "stage != shown_stage"


def upgrade() -> None:
    op.drop_index("turns_unshown", "turns")
    on_postgresql = op.get_context().dialect.name == "postgresql"  # SQLite adds no stored column to a table
    op.add_column("turns", sa.Column("unshown", sa.Boolean, sa.Computed(DIFFER, persisted=on_postgresql)))
    is_unshown = "unshown" if on_postgresql else "unshown = 1"
    op.execute(f"CREATE INDEX turns_unshown ON turns (agent_id, number) WHERE {is_unshown}")
