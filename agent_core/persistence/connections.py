"""Connection pools: SQLite in worker threads, PostgreSQL by asyncpg. Both run functions that take a connection.

On SQLite, each function costs one switch to a thread, however many statements it runs. A function that has started
always runs to its end, even if its caller is cancelled.

Group commit: SQLite allows one writer, and an fsync costs more than the statements. The writer thread therefore runs up
to 64 waiting writes in one transaction, each in its own savepoint.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from sqlite3 import OperationalError
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.errors import CommitUnknown
from agent_core.persistence.outages import is_outage
from agent_core.ports.write_priority import IS_AWAITED

T = TypeVar("T")
Change: TypeAlias = Callable[[Connection], None]

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
PRAGMAS = ("busy_timeout = 5000", "synchronous = FULL", "foreign_keys = ON")
WRITE_AHEAD = "PRAGMA journal_mode = WAL"
MAX_ATTEMPTS = 20
READER_THREADS = 2  # more would wait for the GIL
MAX_GROUPED_WRITES = 64
BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
STATEMENT_SECONDS = 20  # without a limit, a host that is lost is waited for without end
SERVER_OPTIONS: dict[str, Any] = {  # by these keepalives a server notices within a minute that a client is lost
    "timeout": 10,
    "server_settings": {"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"},
}
OPTIONS: dict[str, Any] = {  # no implicit transactions: WriteBuffer begins one for its commit
    "isolation_level": "AUTOCOMMIT",
    "skip_autocommit_rollback": True,
    "pool_reset_on_return": None,
}


@dataclass(frozen=True, slots=True)
class QueuedWrite:
    """A write that waits for the writer thread, and the future that reports its end."""

    change: Change
    saved: "Future[None]"


class FileConnections:
    """SQLite: two threads for reads, one thread for reads that a person waits for, and one thread for writes."""

    def __init__(self, url: str) -> None:
        address = make_url(url).set(drivername="sqlite")
        self._engine = create_engine(address, connect_args={"check_same_thread": False}, **OPTIONS)
        event.listen(self._engine, "connect", _prepare)
        self._readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="reads")
        self._priority_reader = ThreadPoolExecutor(1, thread_name_prefix="reads-first")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writes")
        self._waiting: deque[QueuedWrite] = deque()
        self._connections = ThreadConnections(self._engine)

    async def read(self, ask: Callable[[Connection], T]) -> T:
        return await self._run(self._priority_reader if IS_AWAITED.get() else self._readers, ask)

    async def write(self, change: Change) -> None:
        waiting = QueuedWrite(change, Future())
        self._waiting.append(waiting)
        self._writer.submit(self._write_group)
        await _finish_uncancelled(asyncio.wrap_future(waiting.saved))

    async def close(self) -> None:
        for threads in (self._readers, self._priority_reader, self._writer):
            threads.shutdown()
        self._connections.close()
        self._engine.dispose()

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await _finish_uncancelled(loop.run_in_executor(threads, partial(self._connections.run, work)))

    def _write_group(self) -> None:
        """Save up to 64 waiting writes in one transaction. An earlier call may have saved all of them already."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_GROUPED_WRITES))]
        if not taken:
            return
        faults: Sequence[Exception | None]
        try:
            faults = self._connections.run(partial(_run_grouped, changes=[each.change for each in taken]))
        except Exception as error:
            faults = [error] * len(taken)
        for each, fault in zip(taken, faults, strict=True):
            if fault is None:
                each.saved.set_result(None)
            else:
                each.saved.set_exception(fault)


class ServerConnections:
    """PostgreSQL: a connection pool of SQLAlchemy on asyncpg."""

    def __init__(self, url: str) -> None:
        self._engine = make_engine(url, STATEMENT_SECONDS)

    async def read(self, ask: Callable[[Connection], T]) -> T:
        return await _finish_uncancelled(asyncio.ensure_future(self._run(ask)))

    async def write(self, change: Change) -> None:
        await self.read(partial(_run_in_transaction, change=change))

    async def close(self) -> None:
        await self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            async with self._engine.connect() as connection:
                return await connection.run_sync(work)
        except TimeoutError:  # the host is lost, and the other connections of the pool lead there too
            await self._engine.dispose(close=False)
            raise


Connections: TypeAlias = FileConnections | ServerConnections
"""A pool. `read` runs a read-only function, `write` one in a transaction."""


def connections_to(url: str) -> Connections:
    return FileConnections(url) if make_url(url).get_backend_name() == "sqlite" else ServerConnections(url)


def make_engine(url: str, statement_seconds: float | None = None) -> AsyncEngine:
    """An async engine, for migrations on both databases, for PostgreSQL's pool, and for tests.

    `statement_seconds`: a statement that takes longer on PostgreSQL fails; None, as for migrations, is no limit.
    """
    address = async_url(url)
    is_sqlite = address.get_backend_name() == "sqlite"
    options = {} if is_sqlite else {"connect_args": {**SERVER_OPTIONS, "command_timeout": statement_seconds}}
    engine = create_async_engine(address, pool_pre_ping=not is_sqlite, **OPTIONS, **options)
    if is_sqlite:
        event.listen(engine.sync_engine, "connect", _prepare)
    return engine


def async_url(url: str) -> URL:
    """Add the async driver to `sqlite:///file` or `postgresql://host/name`; rename `sslmode` as asyncpg expects it."""
    address = make_url(url)
    address = address.set(drivername=DRIVERS.get(address.drivername, address.drivername))
    if sslmode := address.query.get("sslmode"):  # libpq's parameter is named ssl in asyncpg
        address = address.difference_update_query(["sslmode"]).update_query_dict({"ssl": sslmode})
    return address


class ThreadConnections:
    """Keeps one open connection for each thread, because a checkout from a pool costs as much as a small statement."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._own = threading.local()
        self._open: set[Connection] = set()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run the function on this thread's connection; after an error the connection is closed."""
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._engine.connect()
            self._open.add(connection)
        try:
            return work(connection)
        except Exception:
            self._own.connection = None
            self._open.discard(connection)
            connection.close()
            raise

    def close(self) -> None:
        """Close all connections. The caller makes sure that no thread still uses one."""
        for connection in self._open:
            connection.close()
        self._open.clear()


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """A transaction that commits at the end, and rolls back after an error. On SQLite it locks out other writers."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])
    try:
        yield
        _commit(connection)
    except BaseException:
        # Cancelling a statement closes the connection, which aborts the transaction.
        if not connection.invalidated:
            _roll_back(connection)
        raise


def _roll_back(connection: Connection) -> None:
    """Roll back. SQLite has done it by itself if the disk is full; an error here must not hide the first one."""
    try:
        connection.exec_driver_sql("ROLLBACK")
    except DBAPIError:
        connection.invalidate()


def _commit(connection: Connection) -> None:
    """Commit; raise CommitUnknown if a server went away before its answer arrived."""
    try:
        connection.exec_driver_sql("COMMIT")
    except Exception as error:
        if connection.dialect.name == "sqlite" or not is_outage(error):
            raise
        raise CommitUnknown("The database went away during a commit.") from error


def _run_in_transaction(connection: Connection, change: Change) -> None:
    with transaction(connection):
        change(connection)


def _run_grouped(connection: Connection, changes: Sequence[Change]) -> list[Exception | None]:
    """Run several changes in one transaction, each in a savepoint. Return the error of each, None if it succeeded."""
    with transaction(connection):
        return [_run_in_savepoint(connection, change) for change in changes]


def _run_in_savepoint(connection: Connection, change: Change) -> Exception | None:
    connection.exec_driver_sql("SAVEPOINT one")
    try:
        change(connection)
    except Exception as fault:
        _undo_savepoint(connection, fault)
        return fault
    connection.exec_driver_sql("RELEASE one")
    return None


def _undo_savepoint(connection: Connection, fault: Exception) -> None:
    """Roll back to the savepoint; raise `fault` if SQLite has rolled back everything, because the disk is full."""
    try:
        connection.exec_driver_sql("ROLLBACK TO one")
        connection.exec_driver_sql("RELEASE one")
    except DBAPIError:
        raise fault from None


async def _finish_uncancelled(step: "asyncio.Future[T]") -> T:
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        await asyncio.wait((step,))
        raise


def _prepare(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    for _ in range(MAX_ATTEMPTS - 1):
        with suppress(OperationalError):
            cursor.execute(WRITE_AHEAD)
            return
        # Another process is creating the file. The pragma ignores busy_timeout; BEGIN IMMEDIATE waits.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    cursor.execute(WRITE_AHEAD)
