"""The scripts lead from nothing to the tables that the code knows."""

import asyncio

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.tables import metadata
from agent_core.testing.examples import an_agent, keep
from tests.standins.everyone import everyone
from tests.tables import on_database


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))


async def differences(url: str) -> list[object]:
    return await on_database(url, _differences)


def test_the_newest_script_is_the_one_that_is_expected() -> None:
    assert ScriptDirectory.from_config(schema.alembic_config()).get_current_head() == schema.HEAD


@pytest.mark.slow
async def test_the_scripts_make_the_tables_that_the_code_knows(url: str) -> None:
    await schema.upgrade(url)
    assert await differences(url) == []


@pytest.mark.slow
async def test_a_difference_would_be_found(url: str) -> None:
    await schema.upgrade(url)
    await on_database(url, lambda connection: connection.exec_driver_sql("DROP INDEX turns_unshown"))
    assert len(await differences(url)) == 1


@pytest.mark.slow
async def test_an_upgrade_of_what_is_up_to_date_keeps_everything(url: str) -> None:
    await schema.upgrade(url)
    database = SqlDatabase(url)
    await keep(database, an_agent())
    await schema.upgrade(url)
    async with database.begin() as work:
        assert await everyone(work) == (an_agent(),)
    await database.close()


@pytest.mark.slow
async def test_processes_that_start_at_once_upgrade_once(url: str) -> None:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(schema.upgrade(url))
    assert await differences(url) == []
