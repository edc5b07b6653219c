"""Adds columns for an agent's thread, owner and time of its status, the table of installations, and indexes."""

import json
import re
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

AWAKE = "status IN ('thinking', 'awaiting', 'acting') AND thread IS NOT NULL"
RESTING = "status NOT IN ('thinking', 'awaiting', 'acting') AND thread IS NOT NULL"
COLUMNS = ("workspace", "thread", "owner", "since")
LONG_AGO = "1970-01-01 00:00:00.000000"  # default of the new column until `_fill` sets the value
BATCH = 500
AWKWARD = re.compile(r"[\\\x00\ud800-\udfff]")  # what tables.AnyText escapes

agents = sa.table(
    "agents",
    sa.column("id", sa.Text),
    sa.column("channel", sa.Text),
    sa.column("workspace", sa.Text),
    sa.column("thread", sa.Text),
    sa.column("owner", sa.Text),
    sa.column("since", sa.DateTime(timezone=True)),
    sa.column("data", sa.Text),
)


def upgrade() -> None:
    # ADD COLUMN, not batch mode: recreating the table in SQLite would cascade deletes to the rows that refer to it.
    for name, default in (("workspace", ""), ("owner", "")):
        op.add_column("agents", sa.Column(name, sa.Text, nullable=False, server_default=default))
    op.add_column("agents", sa.Column("thread", sa.Text))
    op.add_column(
        "agents",
        sa.Column("since", sa.DateTime(timezone=True), nullable=False, server_default=sa.text(f"'{LONG_AGO}'")),
    )
    _fill(op.get_bind())
    op.create_index("agents_in_thread", "agents", ["channel", "thread"])
    op.create_index("agents_owned", "agents", ["owner", "workspace"])
    _partial("agents_awake", ["surface"], AWAKE)
    _partial("agents_resting", ["surface", "since"], RESTING)
    op.create_index("deliveries_at", "deliveries", ["at"])
    _installations()


def _partial(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "agents", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _installations() -> None:
    op.create_table(
        "installations",
        sa.Column("surface", sa.Text, primary_key=True),
        sa.Column("workspace", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("installed_at", sa.DateTime(timezone=True), nullable=False),
    )


def _fill(connection: sa.Connection) -> None:
    change = sa.update(agents).where(agents.c.id == sa.bindparam("the_id"))
    change = change.values({name: sa.bindparam(f"new_{name}") for name in COLUMNS})
    rows = connection.execute(sa.select(agents.c.id, agents.c.channel, agents.c.data)).all()
    for start in range(0, len(rows), BATCH):
        connection.execute(change, [_values(*row) for row in rows[start : start + BATCH]])


def _values(agent_id: str, channel: str, data: str) -> dict[str, object]:
    agent = json.loads(data)
    thread = agent.get("thread")
    return {
        "the_id": agent_id,
        "new_workspace": channel.rpartition("/")[0],
        "new_thread": _escaped(thread["thread"]) if thread else None,
        "new_owner": _escaped(agent["owner"]["id"]),
        "new_since": datetime.fromisoformat(agent["since"]).astimezone(UTC),
    }


def _escaped(text: str) -> str:
    return AWKWARD.sub(lambda found: f"\\{ord(found[0]):04x}", text)
