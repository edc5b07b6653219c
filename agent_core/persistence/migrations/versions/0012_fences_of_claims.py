"""Adds to each claim the fence that its agent has since then, so that what ends a claim ends no later one."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("claims", sa.Column("fence", sa.Integer(), nullable=False, server_default="0"))
