"""Adds the table of deletions that are not finished outside the database, with those of agents deleted before."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "deletions",
        sa.Column("agent_id", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("head", sa.Text),
        sa.Column("index_name", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    # Before this release a crash or an outage could leave files and index entries of a deleted agent. A helper has no
    # workspace of its own: removing a folder that does not exist does nothing.
    op.execute(
        "INSERT INTO deletions (agent_id, channel, index_name, at)"
        " SELECT agent_id, min(channel), '', max(at) FROM audit"
        " WHERE agent_id <> '' AND agent_id NOT IN (SELECT id FROM agents) GROUP BY agent_id"
    )
