"""An older release on tables that a newer one has extended, as in the middle of a rolling upgrade."""

import pytest
from sqlalchemy import Connection, text

from agent_core.errors import NewerTables
from agent_core.model.decision import Approve
from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.tables import on_database

NEWER = "9999"
EXTEND = (
    "ALTER TABLE agents ADD COLUMN mood TEXT",
    "ALTER TABLE turns ADD COLUMN mood TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE notices ADD COLUMN mood INTEGER",
    "ALTER TABLE audit ADD COLUMN mood INTEGER",
    "CREATE TABLE moods (id TEXT PRIMARY KEY, agent_id TEXT REFERENCES agents (id) ON DELETE CASCADE)",
    "CREATE INDEX moods_of ON agents (mood)",
)


async def extend(url: str, works_with: str | None) -> None:
    """Change the tables as a newer release would do whose migration only adds."""

    def act(connection: Connection) -> None:
        for statement in EXTEND:
            connection.exec_driver_sql(statement)
        values = {"version": NEWER, "oldest": works_with and f"{NEWER} {works_with}"}
        connection.execute(text("UPDATE alembic_version SET version_num = :version, works_with = :oldest"), values)

    await schema.upgrade(url)
    await on_database(url, act)


@pytest.mark.proves("upgrade:tables")
async def test_a_process_of_an_older_release_starts_and_works_on_tables_that_were_only_extended(url: str) -> None:
    await extend(url, schema.HEAD)
    assert await schema.upgrade(url)
    assert await schema.version(url) == NEWER
    database = SqlDatabase(url)
    replies = (reply_text("write_to_file", {"filename": "a.txt", "text": "one"}), reply_text("read_file", {}))
    stage = Stage(database=database, model=ScriptedModel(*replies, reply_text("task_complete", {"reason": "Done."})))
    agent = await stage.create()
    for _ in range(2):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    assert agent.status.kind == "finished"
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    await database.close()


@pytest.mark.slow
@pytest.mark.parametrize("works_with", [None, "", NEWER], ids=str)
async def test_tables_that_only_newer_releases_can_work_on_are_refused(url: str, works_with: str | None) -> None:
    await extend(url, works_with)
    with pytest.raises(NewerTables):
        await schema.upgrade(url)


def test_this_release_can_work_on_its_own_tables() -> None:
    assert schema.OLDEST_RELEASE <= schema.HEAD
