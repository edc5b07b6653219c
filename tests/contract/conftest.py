"""Every database that must keep the contract."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.testing.database import TemporaryDatabase, template
from tests.tables import on_database

EMPTY = (
    "TRUNCATE agents, deletions, deliveries, preferences, installations, budgets, spending_days, reservations, audit,"
    " audit_heads, form_drafts CASCADE"
)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An empty SQLite database."""
    return f"sqlite:///{shutil.copy(template(), tmp_path / 'signoff.db')}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    """Where the database is: SQLite in the default tests, also PostgreSQL in all."""
    return str(request.getfixturevalue({"sqlite": "sqlite_url", "postgres": "postgres"}[request.param]))


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    """An empty database."""
    if url.startswith("postgres"):
        await _empty(url)
    database = SqlDatabase(url)
    yield database
    await database.close()


@pytest.fixture
def memory() -> Database:
    """A database where it makes no difference which one it is."""
    return TemporaryDatabase()


async def _empty(url: str) -> None:
    """Delete all rows, and first make the tables if there are none, or others."""

    def empty(connection: Connection) -> bool:
        if schema.read_version(connection) != schema.HEAD:
            return False
        connection.exec_driver_sql(EMPTY)
        return True

    if not await on_database(url, empty):
        await schema.upgrade(url)
        await on_database(url, empty)
