"""The reads of one unit of work, and the writes that wait for its commit. What they say is the repositories' affair."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Executable, Row
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from agent_core.errors import Conflict, DatabaseAway

T = TypeVar("T")
Values: TypeAlias = Mapping[str, object]

BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
SQLITE_CONTENTION = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED
POSTGRES_CONTENTION = ("40001", "40P01")  # serialization_failure, deadlock_detected


@dataclass(frozen=True, slots=True)
class Write:
    """A statement to run. A `checked` one must change a row, or what was read has changed since."""

    statement: Executable
    values: Values | Sequence[Values]
    checked: bool

    def run(self, connection: Connection) -> None:
        """Run it; raise Conflict."""
        result = connection.execute(self.statement, self.values)
        if self.checked and result.rowcount == 0:
            raise Conflict("A record was saved elsewhere since it was read.")


class Buffer:
    """One connection, taken at the first need, that holds no transaction until the commit.

    `writing` is held while it commits: commits of one process queue there instead of polling SQLite's lock.
    """

    def __init__(self, engine: AsyncEngine, writing: AbstractAsyncContextManager[object]) -> None:
        self._engine = engine
        self._writing = writing
        self._connection: AsyncConnection | None = None
        self._writes: dict[object, Write] = {}
        self._is_open = True

    def check_open(self) -> None:
        """Raise RuntimeError once the unit of work has ended."""
        if not self._is_open:
            raise RuntimeError("This unit of work has ended: begin another.")

    async def rows(self, statement: Executable, values: Values) -> Sequence[Row[Any]]:
        """What is committed."""
        self.check_open()
        return await _unbroken(self._read(statement, values))

    def queue(
        self, statement: Executable, values: Values | Sequence[Values], *, key: object = None, checked: bool = False
    ) -> None:
        """Let the statement wait for the commit, in the place of one queued before under the same `key`."""
        self.check_open()
        self._writes[object() if key is None else key] = Write(statement, values, checked)

    async def commit(self) -> None:
        """Run what was queued, all or nothing; raise Conflict."""
        self.check_open()
        self._is_open = False
        if not self._writes:
            return
        async with self._writing:
            await _unbroken(self._write())

    async def close(self) -> None:
        """Give the connection back."""
        self._is_open = False
        if self._connection is not None:
            await _unbroken(self._connection.close())

    async def _read(self, statement: Executable, values: Values) -> Sequence[Row[Any]]:
        with _away():
            connection = await self._connected()
            return (await connection.execute(statement, values)).all()

    async def _write(self) -> None:
        with _away(), _conflicts():
            connection = await self._connected()
            await connection.run_sync(_run, tuple(self._writes.values()))

    async def _connected(self) -> AsyncConnection:
        if self._connection is None:
            self._connection = await self._engine.connect()
        return self._connection


async def _unbroken(step: Coroutine[Any, Any, T]) -> T:
    """Let a step end before its caller is cancelled, so that a Stop leaves no statement behind half-way."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


def _run(connection: Connection, writes: Sequence[Write]) -> None:
    connection.exec_driver_sql(BEGIN[connection.dialect.name])
    try:
        for write in writes:
            write.run(connection)
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        # A cancelled statement has cost the connection already, and the transaction with it.
        if not connection.invalidated:
            connection.exec_driver_sql("ROLLBACK")
        raise


@contextmanager
def _conflicts() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        raise Conflict("A record stands in the way, or one it belongs to is gone.") from error
    except DBAPIError as error:
        if not _is_contention(error.orig):
            raise
        raise Conflict("Another unit of work was at the same records.") from error


@contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatabaseAway("The database cannot be reached.") from error
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise DatabaseAway("The database went away.") from error


def _is_contention(error: BaseException | None) -> bool:
    sqlite_code: int = getattr(error, "sqlite_errorcode", 0)
    return sqlite_code & 0xFF in SQLITE_CONTENTION or getattr(error, "sqlstate", "") in POSTGRES_CONTENTION
