"""Connections to SQLite and PostgreSQL: reads, writes saved in one transaction, and what errors of drivers mean.

Most reads find a few rows by an index in less time than a switch to another thread takes. SQLite has one writer, and a
commit waits for the disk.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlalchemy import URL, Connection, Engine, Executable, Row, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.errors import CommitUnknown, Conflict, DatabaseAway
from agent_core.ports.database import finish_uncancelled

Values: TypeAlias = Mapping[str, object]
# Every commit locks rows in this order, so that no two wait for each other. The heads of the decision log are the last:
# who holds one waits for no other kind, and the next writer of the channel waits for as short as possible.
AGENTS, RECORDS, JOBS, HEADS = range(4)
SAVED_ELSEWHERE = "A record was saved elsewhere since it was read."


@dataclass(frozen=True, slots=True)
class Write:
    """A statement with its values. If it is `checked`, the commit raises Conflict when the statement changes no row."""

    statement: Executable
    values: Values | Sequence[Values]
    checked: bool = False
    rank: int = RECORDS
    place: str = ""

    def require_change(self, changed: int) -> None:
        """Raise Conflict if it is checked, and changed no row."""
        if self.checked and changed == 0:
            raise Conflict(SAVED_ELSEWHERE)


@dataclass(frozen=True, slots=True)
class DecidedWrite:
    """Writes that depend on what the transaction reads before them.

    `lock`: a statement with which a server keeps out others from before the read until the commit, unless the query
    does; SQLite's transaction does so by itself. `place`: the order within a rank.
    `decide` may run more than once, and may raise an error, which saves nothing.
    """

    query: Executable
    values: Values
    decide: Callable[[Sequence[Row[Any]]], Sequence[Write]]
    lock: Executable | None = None
    rank: int = RECORDS
    place: str = ""


BufferedWrite: TypeAlias = Write | DecidedWrite


@dataclass(frozen=True, slots=True)
class Writes:
    """The writes of one unit of work, in their order. Called with a connection to SQLite, it runs them there."""

    queued: Sequence[BufferedWrite]

    def __call__(self, connection: Connection) -> None:
        for each in self.queued:
            writes: Sequence[Write] = (each,) if isinstance(each, Write) else ()
            if isinstance(each, DecidedWrite):
                writes = each.decide(connection.execute(each.query, each.values).all())
            for write in writes:
                write.require_change(connection.execute(write.statement, write.values).rowcount)


logger = logging.getLogger(__name__)

SQLITE_CONTENTION = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED
SQLITE_UNAVAILABLE = (10, 13, 14)  # SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: no descriptor, no disk, no folder
POSTGRES_VIOLATION = "23"  # the class of integrity_constraint_violation
POSTGRES_CONTENTION = ("40001", "40P01")  # serialization_failure, deadlock_detected
# PostgreSQL's classes of SQLSTATE (its manual, appendix A) that end with a restart, a failover or free resources:
# connection exception, insufficient resources, operator intervention (57P01 to 57P05: shutdown, crash, starting up;
# 57014: a statement took too long), system error, 25006: a standby accepts no writes, 25P03: a session was idle too
# long, 55P03: a lock was not available in time.
# What libpq says that is for good.
REFUSED = "authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry", "permission denied"
POSTGRES_UNAVAILABLE = ("08", "53", "57P", "57014", "58", "25006", "25P03", "55P03")


@contextmanager
def translate_outage() -> Iterator[None]:
    """Raise DatabaseAway for an error that says that the database cannot be reached or used for now."""
    try:
        yield
    except Exception as error:
        if not is_outage(error):
            raise
        raise DatabaseAway(f"The database cannot be used now ({first_line(error)}).") from error


class OutageLog:
    """Logs one line when an outage begins, however many calls fail, and one when it is over.

    An outage that a write met is over with a write, because reads succeed while a disk is full. A call that began
    before it ends none: it may succeed while others fail.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._needs_write, self._count = False, 0

    @contextmanager
    def watch(self, *, is_write: bool = False) -> Iterator[None]:
        """Watch a call in a with-block; raise DatabaseAway as `translate_outage`."""
        known = self._count
        try:
            with translate_outage():
                yield
        except DatabaseAway as away:
            if not self.is_on:
                self._count += 1
                logger.warning("database away, work waits for it", extra={"why": str(away)})
                self.is_on, self._needs_write = True, is_write
            raise
        if self.is_on and known == self._count and (is_write or not self._needs_write):
            self.is_on = False
            logger.warning("database back, work goes on")


@contextmanager
def translate_conflict() -> Iterator[None]:
    """Raise Conflict for an error that says that another unit of work changed the same records."""
    try:
        yield
    except Exception as error:
        inner = _of_driver(error)
        if isinstance(inner, sqlite3.IntegrityError) or _sqlstate(inner).startswith(POSTGRES_VIOLATION):
            raise Conflict("A unique constraint or foreign key was violated.") from error
        if _is_contention(inner):
            raise Conflict("Another unit of work changed the same records.") from error
        raise


def is_database_error(error: BaseException) -> bool:
    """Whether the database, its driver or SQLAlchemy raised the error."""
    return isinstance(error, SQLAlchemyError | sqlite3.Error) or bool(_sqlstate(error))


def is_outage(error: BaseException) -> bool:
    """Whether the error may pass without a change."""
    if isinstance(error, OSError | PoolTimeout):
        return True
    inner = _of_driver(error)
    if code := _sqlite_code(inner):
        return code in (*SQLITE_UNAVAILABLE, *SQLITE_CONTENTION)
    if state := _sqlstate(inner):
        return state.startswith(POSTGRES_UNAVAILABLE)
    # What libpq says while it connects, or of a connection that is lost, has no SQLSTATE.
    is_of_connection = isinstance(error, OperationalError) and not isinstance(inner, sqlite3.Error)
    return is_of_connection and not any(why in str(inner) for why in REFUSED)


def _is_contention(error: BaseException | None) -> bool:
    return _sqlite_code(error) in SQLITE_CONTENTION or _sqlstate(error) in POSTGRES_CONTENTION


def _of_driver(error: BaseException) -> BaseException:
    """The driver's own error: SQLAlchemy wraps it, except for prepared statements."""
    return error.orig if isinstance(error, DBAPIError) and error.orig else error


def first_line(error: BaseException) -> str:
    inner = _of_driver(error)
    return str(inner).partition("\n")[0] or type(inner).__name__


def _sqlstate(error: BaseException | None) -> str:
    return getattr(error, "sqlstate", None) or ""


def _sqlite_code(error: BaseException | None) -> int:
    """SQLite's primary result code; 0 for an error that is not SQLite's."""
    extended: int = getattr(error, "sqlite_errorcode", 0)
    return extended & 0xFF


DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
BUSY_TIMEOUT = "PRAGMA busy_timeout = 5000"
PRAGMAS = ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON")
WRITE_AHEAD = "PRAGMA journal_mode = WAL"
MAX_ATTEMPTS = 20
STATEMENT_SECONDS = 20  # without a limit, a host that is lost is waited for without end
# By these keepalives a server notices within a minute that a client is lost, and a client that its server is. Compiling
# a query takes PostgreSQL longer than running it where it guesses too many rows, so that is off.
SERVER_OPTIONS = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c jit=off"
CONNECT_ARGUMENTS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}


class TooLong(Exception):
    """A read took longer than it may."""


class Connections(Protocol):
    """Connections to one database. A commit that has started runs to its end, even if its caller is cancelled."""

    outages: OutageLog
    is_server: bool  # PostgreSQL, not a SQLite file

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        """Run a query on committed data; with `seconds`, raise TooLong if it takes longer."""

    async def write(self, writes: Writes) -> None:
        """Save all of them, or none; raise Conflict."""

    async def empty_journal(self) -> bool:
        """See `Deletions.empty_journal`."""

    async def close(self) -> None:
        """Close all connections. The caller makes sure that none is in use."""


def make_engine(url: str) -> Engine:
    """An engine of either database, without a limit of time: for a SQLite file, and for migrations."""
    address = address_of(url)
    if address.get_backend_name() != "sqlite":
        return create_engine(address, connect_args={**CONNECT_ARGUMENTS, "options": SERVER_OPTIONS})
    engine = create_engine(address, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    return engine


def make_server_engine(url: str, seconds: float, **options: Any) -> AsyncEngine:
    """An engine of PostgreSQL on which a statement fails that takes longer than `seconds`."""
    milliseconds = round(1000 * seconds)
    limits = {
        "options": f"{SERVER_OPTIONS} -c statement_timeout={milliseconds}",
        "tcp_user_timeout": milliseconds,  # a host that is lost sends no answer
    }
    return create_async_engine(address_of(url), connect_args={**CONNECT_ARGUMENTS, **limits}, **options)


def address_of(url: str) -> URL:
    """The address with its driver, for `sqlite:///file` or `postgresql://host/name`."""
    address = make_url(url)
    return address.set(drivername=DRIVERS.get(address.get_backend_name(), address.drivername))


def job_queue_address(url: str) -> str:
    """The address of PostgreSQL as libpq reads it, with its password; "" for SQLite, which has no queue of jobs."""
    address = address_of(url)
    is_server = address.get_backend_name() == "postgresql"
    return address.set(drivername="postgresql").render_as_string(hide_password=False) if is_server else ""


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """A transaction that commits at the end, and rolls back after an error. On SQLite it locks out other writers."""
    with connection.begin():
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield


def _prepare(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(BUSY_TIMEOUT)
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    for _ in range(MAX_ATTEMPTS - 1):
        with suppress(sqlite3.OperationalError):
            cursor.execute(WRITE_AHEAD)
            return
        # Another process is creating the file. The pragma ignores busy_timeout; BEGIN IMMEDIATE waits.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    cursor.execute(WRITE_AHEAD)


T = TypeVar("T")

STEPS_BETWEEN_CHECKS = 100  # of SQLite's virtual machine, in a read that has a limit of time


class FileConnections:
    """See `Connections`."""

    is_server = False

    def __init__(self, url: str) -> None:
        self.outages = OutageLog()
        self._engine = make_engine(url)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writes")

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        if seconds is not None:  # a long read
            return await self._in_thread(None, partial(self._find_within, seconds, query, values))
        with self._engine.connect() as connection:
            return connection.execute(query, values).all()

    async def write(self, writes: Writes) -> None:
        await self._run_in_writer(partial(_save, writes))

    async def empty_journal(self) -> bool:
        """Copy the write-ahead log into the database and truncate it, so that it has no content of deleted rows.

        Return False, without waiting, if another connection reads an older state.
        """
        return await self._run_in_writer(_empty_journal)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.shutdown)
        self._engine.dispose()

    async def _run_in_writer(self, work: Callable[[Connection], T]) -> T:
        def run() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        return await self._in_thread(self._writer, run)

    async def _in_thread(self, executor: ThreadPoolExecutor | None, work: Callable[[], T]) -> T:
        return await finish_uncancelled(asyncio.get_running_loop().run_in_executor(executor, work))

    def _find_within(self, seconds: float, query: Executable, values: Values) -> Sequence[Row[Any]]:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            ends_at = time.monotonic() + seconds
            driver.set_progress_handler(lambda: time.monotonic() > ends_at, STEPS_BETWEEN_CHECKS)
            try:
                return connection.execute(query, values).all()
            except OperationalError as error:
                if getattr(error.orig, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                    raise TooLong from error
                raise
            finally:
                with suppress(sqlite3.Error):
                    driver.set_progress_handler(None, 0)


def _save(writes: Writes, connection: Connection) -> None:
    with transaction(connection):
        writes(connection)


def _empty_journal(connection: Connection) -> bool:
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        is_busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    finally:
        connection.exec_driver_sql(BUSY_TIMEOUT)
    return not is_busy


QUERY_CANCELED = "57014"


class ServerConnections:
    """See `Connections`.

    A cancelled caller ends its read on the server, at the latest by the limit of a statement, and waits for its commit.
    A restart of the server closes all connections. What meets that is tried once more, unless COMMIT was sent.
    """

    is_server = True

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
                decided: Sequence[Write] = (each,) if isinstance(each, Write) else ()
                if isinstance(each, DecidedWrite):
                    if each.lock is not None:
                        await connection.execute(each.lock, each.values)
                    decided = each.decide((await connection.execute(each.query, each.values)).all())
                for write in decided:
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
