"""Reads and commits of a SQLite file."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import bindparam, delete, insert, select

from agent_core.errors import Conflict, DatabaseAway
from agent_core.model.agent import Agent
from agent_core.persistence.connections import FileConnections, Write, Writes
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.tables import preferences
from agent_core.ports.database import Database
from agent_core.testing.examples import an_agent, keep

KEYS = select(preferences.c.key).order_by(preferences.c.key)
MANY = 400
ADA = an_agent()


@pytest.fixture
async def connections(sqlite_url: str) -> AsyncIterator[FileConnections]:
    connections = FileConnections(sqlite_url)
    yield connections
    await connections.close()


def put(key: str) -> Write:
    return Write(insert(preferences), {"channel": "there", "key": key, "text": "text"})


async def keys(connections: FileConnections) -> Sequence[str]:
    return [row.key for row in await connections.rows(KEYS, {})]


async def find(database: Database) -> Agent:
    async with database.begin() as work:
        return await work.agents.locate(ADA.id)


def size_of_journal(url: str) -> int:
    return Path(f"{url.removeprefix('sqlite:///')}-wal").stat().st_size


@pytest.mark.slow
async def test_commits_at_the_same_time_are_all_saved(connections: FileConnections) -> None:
    names = sorted(f"{number}" for number in range(MANY))
    await asyncio.gather(*(connections.write(Writes([put(name)])) for name in names))
    assert await keys(connections) == names


async def test_a_conflict_undoes_the_whole_commit_and_no_other(connections: FileConnections) -> None:
    missing = Write(delete(preferences).where(preferences.c.key == bindparam("gone")), {"gone": "z"}, checked=True)
    good = asyncio.create_task(connections.write(Writes([put("b")])))
    with pytest.raises(Conflict):
        await connections.write(Writes([put("a"), missing]))
    await good
    assert await keys(connections) == ["b"]


async def test_a_commit_whose_caller_is_cancelled_is_saved(connections: FileConnections) -> None:
    saving = asyncio.create_task(connections.write(Writes([put("a")])))
    await asyncio.wait({saving}, timeout=0)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    assert await keys(connections) == ["a"]


@pytest.mark.slow
async def test_a_commit_waits_for_another_process_and_then_is_saved(
    connections: FileConnections, sqlite_url: str
) -> None:
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    saving = asyncio.create_task(connections.write(Writes([put("a")])))
    await asyncio.wait({saving}, timeout=0.1)
    assert await keys(connections) == [], "reads do not wait"
    other.execute("ROLLBACK")
    await saving
    other.close()
    assert await keys(connections) == ["a"]


@pytest.mark.slow
async def test_the_write_ahead_log_does_not_grow_with_the_number_of_commits(
    connections: FileConnections, sqlite_url: str
) -> None:
    for number in range(MANY):  # four pages each
        await connections.write(Writes([put(f"{number}")]))
    assert size_of_journal(sqlite_url) < 1_200 * 4_120, "SQLite copies it after 1,000 pages"
    assert await connections.empty_journal()
    assert size_of_journal(sqlite_url) == 0


async def test_a_database_file_that_cannot_be_opened_is_away_until_it_can(sqlite_url: str, tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "signoff.db", tmp_path / "elsewhere.db"
    file.rename(elsewhere)
    file.mkdir()  # SQLite says "unable to open database file", as it does where no descriptor is left
    database = SqlDatabase(sqlite_url)
    for attempt in (find(database), keep(database, ADA)):
        with pytest.raises(DatabaseAway, match="unable to open database file"):
            await attempt
    file.rmdir()
    elsewhere.rename(file)
    await keep(database, ADA)
    assert await find(database) == ADA
    await database.close()
