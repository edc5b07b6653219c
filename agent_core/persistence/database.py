"""Units of work on SQLite or PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from sqlite3 import OperationalError
from typing import Any

from sqlalchemy import URL, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.persistence.agents import SqlAgents
from agent_core.persistence.buffer import Buffer
from agent_core.persistence.hop import OneHopConnection
from agent_core.persistence.ledgers import SqlAudit, SqlDeliveries, SqlPreferences
from agent_core.persistence.notes import SqlNotes
from agent_core.persistence.turns import SqlTurns

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
PRAGMAS = ("busy_timeout = 5000", "synchronous = FULL", "foreign_keys = ON")
WRITE_AHEAD = "PRAGMA journal_mode = WAL"
ATTEMPTS = 20


class SqlUnitOfWork:
    """See `UnitOfWork` in the ports."""

    def __init__(self, buffer: Buffer) -> None:
        self.agents = SqlAgents(buffer)
        self.turns = SqlTurns(buffer)
        self.notes = SqlNotes(buffer)
        self.deliveries = SqlDeliveries(buffer)
        self.audit = SqlAudit(buffer)
        self.preferences = SqlPreferences(buffer)
        self._buffer = buffer

    async def commit(self) -> None:
        """Save everything."""
        await self._buffer.commit()


class SqlDatabase:
    """See `Database` in the ports. `schema.upgrade` brings the tables up to date before it is used."""

    def __init__(self, url: str) -> None:
        self._engine = make_engine(url)
        is_sqlite = self._engine.dialect.name == "sqlite"
        self._writing: AbstractAsyncContextManager[object] = asyncio.Lock() if is_sqlite else nullcontext()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        """Open a unit of work."""
        buffer = Buffer(self._engine, self._writing)
        try:
            yield SqlUnitOfWork(buffer)
        finally:
            await buffer.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def make_engine(url: str) -> AsyncEngine:
    """An engine whose connections open no transaction by themselves: a buffer does, for its commit."""
    address = async_url(url)
    is_sqlite = address.get_backend_name() == "sqlite"
    engine = create_async_engine(
        address,
        isolation_level="AUTOCOMMIT",
        skip_autocommit_rollback=True,
        pool_reset_on_return=None,
        pool_pre_ping=not is_sqlite,
        connect_args={"async_creator_fn": OneHopConnection} if is_sqlite else {},
    )
    if is_sqlite:
        event.listen(engine.sync_engine, "connect", _prepare)
    return engine


def async_url(url: str) -> URL:
    """`sqlite:///file` or `postgresql://host/name`, as written everywhere, with the driver that is used here."""
    address = make_url(url)
    address = address.set(drivername=DRIVERS.get(address.drivername, address.drivername))
    if sslmode := address.query.get("sslmode"):  # libpq's word, known to asyncpg as ssl
        address = address.difference_update_query(["sslmode"]).update_query_dict({"ssl": sslmode})
    return address


def _prepare(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    for _ in range(ATTEMPTS - 1):
        with suppress(OperationalError):
            cursor.execute(WRITE_AHEAD)
            return
        # Another process makes the file at this moment. The pragma does not wait for it; this does.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    cursor.execute(WRITE_AHEAD)
