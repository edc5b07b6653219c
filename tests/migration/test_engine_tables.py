"""The tables of the engine before Procrastinate go, once none of its workers is at work."""

import asyncio

import pytest
from sqlalchemy import Connection, inspect

from agent_core.errors import SettingsError
from agent_core.persistence import schema
from bot.bootstrap import migrate_database
from bot.settings import load
from tests.tables import on_database

BEFORE = "0015"


async def with_worker(url: str) -> None:
    """Tables of the release before, with a worker."""

    def join(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO workers VALUES ('w.1', '', 7, true)")

    await schema.migrate(url, BEFORE)
    await on_database(url, join)


async def beat(url: str) -> None:
    def act(connection: Connection) -> None:
        connection.exec_driver_sql("UPDATE workers SET beats = beats + 1")

    while True:
        await on_database(url, act)


async def names(url: str) -> set[str]:
    return set(await on_database(url, lambda connection: inspect(connection).get_table_names()))


@pytest.mark.slow
@pytest.mark.proves("upgrade:tables")
async def test_what_a_dead_worker_left_keeps_no_upgrade_back(url: str) -> None:
    await with_worker(url)
    await schema.upgrade(url)
    assert not {"workers", "claims"} & await names(url)


@pytest.mark.slow
@pytest.mark.proves("upgrade:tables")
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_an_upgrade_beside_workers_of_the_release_before_is_refused_in_one_line(url: str) -> None:
    await with_worker(url)
    beating = asyncio.create_task(beat(url))
    with pytest.raises(SettingsError, match=r"workers of the release before are at work on it \(1\): stop them"):
        await migrate_database(load({"DATABASE_URL": url}, None))
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    assert await schema.version(url) == BEFORE
    await schema.upgrade(url)
    assert not {"workers", "claims"} & await names(url)
