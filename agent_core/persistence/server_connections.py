"""Connections to a PostgreSQL server, by SQLAlchemy's pool and psycopg."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Executable, Row, text
from sqlalchemy.exc import DBAPIError

from agent_core.errors import CommitUnknown
from agent_core.persistence.connections import STATEMENT_SECONDS, TooLong, make_server_engine
from agent_core.persistence.outages import OutageLog, is_outage
from agent_core.persistence.writes import DecidedWrite, Values, Writes
from agent_core.ports.database import finish_uncancelled

T = TypeVar("T")

QUERY_CANCELED = "57014"


class ServerConnections:
    """See `Connections`.

    A cancelled caller ends its read on the server, at the latest by the limit of a statement, and waits for its commit.
    A restart of the server closes all connections. What meets that is tried once more, unless COMMIT was sent.
    """

    def __init__(self, url: str) -> None:
        self.outages = OutageLog()
        self._engine = make_server_engine(url, STATEMENT_SECONDS)
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # without BEGIN and ROLLBACK

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        if seconds is not None:
            return await _again_if_lost(partial(self._rows_within, seconds, query, values))
        return await _again_if_lost(partial(self._rows, query, values))

    async def write(self, writes: Writes) -> None:
        await finish_uncancelled(_again_if_lost(partial(self._save, writes)))

    async def empty_journal(self) -> bool:
        """Do nothing: what the server's own files keep, and how long, is up to the server."""
        return True

    async def close(self) -> None:
        await self._engine.dispose()

    async def _rows(self, query: Executable, values: Values) -> Sequence[Row[Any]]:
        async with self._reading.connect() as connection:
            return (await connection.execute(query, values)).all()

    async def _rows_within(self, seconds: float, query: Executable, values: Values) -> Sequence[Row[Any]]:
        async with self._engine.connect() as connection:
            await connection.execute(text(f"SET LOCAL statement_timeout = {round(1000 * seconds)}"))
            try:
                return (await connection.execute(query, values)).all()
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", "") == QUERY_CANCELED:
                    raise TooLong from error
                raise

    async def _save(self, writes: Writes) -> None:
        """Save in one transaction; raise CommitUnknown if the server went away before it answered to COMMIT."""
        async with self._engine.connect() as connection:
            for each in writes.queued:
                write = each
                if isinstance(write, DecidedWrite):
                    await connection.execute(write.lock, write.values)
                    write = write.decide((await connection.execute(write.query, write.values)).all())
                write.require_change((await connection.execute(write.statement, write.values)).rowcount)
            try:
                await connection.commit()
            except DBAPIError as error:
                if is_outage(error):
                    raise CommitUnknown("The database went away during a commit.") from error
                raise


async def _again_if_lost(work: Callable[[], Awaitable[T]]) -> T:
    """Once one connection is found lost, SQLAlchemy opens new ones instead of all that it kept."""
    try:
        return await work()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        return await work()
