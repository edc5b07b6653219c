"""Adds the index by which the newest turns of a channel are found."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_index("turns_in", "turns", ["channel", "id"])
