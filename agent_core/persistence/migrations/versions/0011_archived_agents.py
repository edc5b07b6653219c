"""Adds when an agent was archived, and the indexes by which archived agents and all others are found.

`agents_listed` takes the place of `agents_census`, without which the release before finds the same, more slowly.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
LISTED = "(archived_at IS NULL OR archived_at < since)"
ARCHIVED = "archived_at >= since"


def upgrade() -> None:
    op.add_column("agents", sa.Column("archived_at", sa.DateTime(timezone=True)))
    for name, columns, condition in (
        ("agents_listed", ["channel", "status", "since", "archived_at"], LISTED),
        ("agents_archived", ["channel", "archived_at", "since"], ARCHIVED),
    ):
        where = sa.text(condition)
        op.create_index(name, "agents", columns, sqlite_where=where, postgresql_where=where)
    op.drop_index("agents_census", "agents")
