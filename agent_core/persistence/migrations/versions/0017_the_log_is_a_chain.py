"""Makes the decision log a hash chain for each channel. Entries of older releases stay outside it."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("audit", sa.Column("seq", sa.Integer()))
    op.add_column("audit", sa.Column("texts", sa.Text()))
    op.add_column("audit", sa.Column("hash", sa.Text()))
    op.add_column("audit", sa.Column("is_listed", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.create_index("audit_chain", "audit", ["channel", "seq"], unique=True)
    op.drop_index("audit_in", "audit")
    op.execute("CREATE INDEX audit_in ON audit (channel, at) WHERE is_listed")
    op.create_table(
        "audit_heads",
        sa.Column("channel", sa.Text(), primary_key=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("first_previous", sa.Text(), nullable=False),
    )
