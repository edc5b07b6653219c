"""Adds the folded texts of agents, turns and notes, in which people search, and fills them from what is stored."""

import sqlalchemy as sa
from alembic import op

from agent_core.persistence.text_search import put_all_texts

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "texts",
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("agents.id", ondelete="CASCADE"), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
    )
    op.create_index("texts_of", "texts", ["agent_id"])
    put_all_texts(op.get_bind())
