"""Drops the tables of workers and their claims: Procrastinate, with tables of its own, shares agents among processes.

Workers of the release before cannot go on without these tables, so they have to end first.
"""

import sqlalchemy as sa
from alembic import op

from agent_core.errors import WorkersAtWork

revision = "0016"
down_revision = "0015"
BEATS = sa.text("SELECT id, beats FROM workers WHERE accepts")
TWO_BEATS = sa.text("SELECT pg_sleep(2)")


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":  # on SQLite, the lock of the database keeps a second engine out
        before = {row.id: row.beats for row in connection.execute(BEATS)}
        if before:
            connection.execute(TWO_BEATS)
        living = sum(before.get(row.id, row.beats) != row.beats for row in connection.execute(BEATS))
        if living:
            raise WorkersAtWork(
                f"workers of the release before are at work on it ({living}): stop them, then start this release. "
                "Agents wait meanwhile, and nothing is lost."
            )
    op.drop_table("claims")
    op.drop_table("workers")
