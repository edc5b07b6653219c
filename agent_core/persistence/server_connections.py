"""Connections to a PostgreSQL server, by asyncpg."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Row, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError

from agent_core.persistence.connections import (
    BEGIN,
    STATEMENT_SECONDS,
    Change,
    make_engine,
    run_in_transaction,
)
from agent_core.persistence.outages import OutageLog
from agent_core.persistence.prepared_statements import Values, find_rows
from agent_core.persistence.timed_reads import find_rows_within
from agent_core.ports.database import Together, at_the_same_time, finish_uncancelled

T = TypeVar("T")


class ServerConnections:
    """PostgreSQL: a connection pool of SQLAlchemy on asyncpg.

    A connection is not tested before its use, which would double the round trips. If the server has closed it, which a
    restart does with all of them, SQLAlchemy renews the pool, and what has not begun is tried once more.
    """

    def __init__(self, url: str) -> None:
        self.outages = OutageLog()
        self.together: Together = at_the_same_time
        self._engine = make_engine(url, STATEMENT_SECONDS)
        event.listen(self._engine.sync_engine, "handle_error", _distrust_pool)

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        find = find_rows if seconds is None else partial(find_rows_within, seconds)
        return await self._finish(partial(find, query=query, values=values), only_reads=True)

    async def write(self, change: Change) -> None:
        await self._finish(partial(run_in_transaction, change=change), only_reads=False)

    async def empty_journal(self) -> bool:
        """Do nothing: what the server's own files keep, and how long, is up to the server."""
        return True

    async def close(self) -> None:
        await self._engine.dispose()

    async def _finish(self, work: Callable[[Connection], T], *, only_reads: bool) -> T:
        return await finish_uncancelled(self._run(work, only_reads=only_reads))

    async def _run(self, work: Callable[[Connection], T], *, only_reads: bool) -> T:
        try:
            return await self._attempt(work)
        except DBAPIError as error:
            has_begun = not only_reads and error.statement != BEGIN["postgresql"]
            if has_begun or not error.connection_invalidated or isinstance(error.orig, TimeoutError):
                raise
        return await self._attempt(work)

    async def _attempt(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)


def _distrust_pool(context: ExceptionContext) -> None:
    """Let the pool replace all its connections after a timeout: if the host is lost, they lead there too."""
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True
