"""Connections that run a function of a plain SQLAlchemy connection: SQLite's in a thread, PostgreSQL's by asyncpg.

What a function does in SQLite costs one trip to a thread, however many statements it runs; a trip is most of what a
statement costs there. A function that was begun is never left half-way: it ends before its caller is cancelled.

SQLite takes one writer at a time, and the disk's word that a commit is safe takes longer than its statements. So the
writing thread takes all that waits at once, each in a savepoint of its own, and has the disk asked once.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from sqlite3 import OperationalError
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.ports.write_priority import IS_AWAITED

T = TypeVar("T")
Change: TypeAlias = Callable[[Connection], None]

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
PRAGMAS = ("busy_timeout = 5000", "synchronous = FULL", "foreign_keys = ON")
WRITE_AHEAD = "PRAGMA journal_mode = WAL"
ATTEMPTS = 20
READERS = 2  # more only wait for one another: what a thread does here is half Python
MOST_AT_ONCE = 64
BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
OPTIONS: dict[str, Any] = {  # no connection opens a transaction by itself: a buffer does, for its commit
    "isolation_level": "AUTOCOMMIT",
    "skip_autocommit_rollback": True,
    "pool_reset_on_return": None,
}


@dataclass(frozen=True, slots=True)
class QueuedWrite:
    """A change that waits to be saved, and who waits for that."""

    change: Change
    saved: "Future[None]"


class Connections(Protocol):
    """A pool of connections."""

    async def read(self, ask: Callable[[Connection], T]) -> T:
        """Run what only reads."""
        ...

    async def write(self, change: Change) -> None:
        """Run what writes in a transaction: all of it is saved, or nothing when it raises."""
        ...

    async def close(self) -> None:
        """Close all of them."""
        ...


class FileConnections:
    """SQLite: a few threads that read, and one that writes, for SQLite takes one writer at a time."""

    def __init__(self, url: str) -> None:
        address = make_url(url).set(drivername="sqlite")
        self._engine = create_engine(address, connect_args={"check_same_thread": False}, **OPTIONS)
        event.listen(self._engine, "connect", _prepare)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reads")
        self._first = ThreadPoolExecutor(1, thread_name_prefix="reads-first")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writes")
        self._waiting: deque[QueuedWrite] = deque()
        self._held = ThreadConnections(self._engine)

    async def read(self, ask: Callable[[Connection], T]) -> T:
        """Run it in a thread that reads: one is kept for what somebody waits for."""
        return await self._run(self._first if IS_AWAITED.get() else self._readers, ask)

    async def write(self, change: Change) -> None:
        """Have it run by the thread that writes, with whatever else waits there by then."""
        waiting = QueuedWrite(change, Future())
        self._waiting.append(waiting)
        self._writer.submit(self._save_all)
        await _finish_uncancelled(asyncio.wrap_future(waiting.saved))

    async def close(self) -> None:
        """Close the connections and end the threads."""
        for threads in (self._readers, self._first, self._writer):
            threads.shutdown()
        self._held.close()
        self._engine.dispose()

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await _finish_uncancelled(loop.run_in_executor(threads, partial(self._held.run, work)))

    def _save_all(self) -> None:
        """Save what waits; an earlier call may have taken it along."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
        if not taken:
            return
        faults: Sequence[Exception | None]
        try:
            faults = self._held.run(partial(_saved, changes=[each.change for each in taken]))
        except Exception as error:
            faults = [error] * len(taken)
        for each, fault in zip(taken, faults, strict=True):
            if fault is None:
                each.saved.set_result(None)
            else:
                each.saved.set_exception(fault)


class ServerConnections:
    """PostgreSQL."""

    def __init__(self, url: str) -> None:
        self._engine = make_engine(url)

    async def read(self, ask: Callable[[Connection], T]) -> T:
        """Run it on any connection."""
        return await _finish_uncancelled(asyncio.ensure_future(self._run(ask)))

    async def write(self, change: Change) -> None:
        """Run it on any connection: the server sees to who is first."""
        await self.read(partial(_alone, change=change))

    async def close(self) -> None:
        """Close the connections."""
        await self._engine.dispose()

    async def _run(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)


def connections_to(url: str) -> Connections:
    """A pool for the database at this address."""
    return FileConnections(url) if make_url(url).get_backend_name() == "sqlite" else ServerConnections(url)


def make_engine(url: str) -> AsyncEngine:
    """An engine for either database, where a few statements run once: migrations, and tests that look inside."""
    address = async_url(url)
    is_sqlite = address.get_backend_name() == "sqlite"
    engine = create_async_engine(address, pool_pre_ping=not is_sqlite, **OPTIONS)
    if is_sqlite:
        event.listen(engine.sync_engine, "connect", _prepare)
    return engine


def async_url(url: str) -> URL:
    """`sqlite:///file` or `postgresql://host/name`, as written in settings, with the driver that is used here."""
    address = make_url(url)
    address = address.set(drivername=DRIVERS.get(address.drivername, address.drivername))
    if sslmode := address.query.get("sslmode"):  # libpq's word, known to asyncpg as ssl
        address = address.difference_update_query(["sslmode"]).update_query_dict({"ssl": sslmode})
    return address


class ThreadConnections:
    """A connection for each thread, kept open: to fetch one and give it back costs as much as a small statement."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._own = threading.local()
        self._open: set[Connection] = set()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run it on this thread's connection; one on which something failed is not used again."""
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
        """Close them all, once no thread uses them any more."""
        for connection in self._open:
            connection.close()
        self._open.clear()


def _alone(connection: Connection, change: Change) -> None:
    connection.exec_driver_sql(BEGIN["postgresql"])
    try:
        change(connection)
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        # A cancelled statement has cost the connection already, and the transaction with it.
        if not connection.invalidated:
            connection.exec_driver_sql("ROLLBACK")
        raise


def _saved(connection: Connection, changes: Sequence[Change]) -> list[Exception | None]:
    """Run several changes in one transaction, each all or nothing; what went wrong with each, if anything did."""
    connection.exec_driver_sql(BEGIN["sqlite"])
    try:
        faults = [_within(connection, change) for change in changes]
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    return faults


def _within(connection: Connection, change: Change) -> Exception | None:
    connection.exec_driver_sql("SAVEPOINT one")
    try:
        change(connection)
    except Exception as fault:
        connection.exec_driver_sql("ROLLBACK TO one")
        connection.exec_driver_sql("RELEASE one")
        return fault
    connection.exec_driver_sql("RELEASE one")
    return None


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
    for _ in range(ATTEMPTS - 1):
        with suppress(OperationalError):
            cursor.execute(WRITE_AHEAD)
            return
        # Another process makes the file at this moment. The pragma does not wait for it; this does.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    cursor.execute(WRITE_AHEAD)
