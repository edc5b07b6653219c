"""Connections to a SQLite file: short reads and commits on the event loop's thread, all others in threads.

Most reads find a few rows by an index in less time than a switch to another thread takes. What takes long is
interrupted and repeated in a thread. Commits go to a thread while the disk is slow, and while others wait there.

Group commit: SQLite allows one writer, and an fsync costs more than the statements. The writer thread therefore runs up
to 64 waiting writes in one transaction, each in its own savepoint.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Executable, Row
from sqlalchemy.exc import DBAPIError

from agent_core.errors import Conflict
from agent_core.persistence.checkpoints import COMMITS_BETWEEN_CHECKPOINTS, copy_wal, empty_wal
from agent_core.persistence.connections import (
    Change,
    make_file_engine,
    run_in_transaction,
    transaction,
)
from agent_core.persistence.long_queries import LongQueries
from agent_core.persistence.outages import OutageLog
from agent_core.persistence.prepared_statements import Values, find_rows
from agent_core.persistence.short_statements import ShortStatements
from agent_core.persistence.timed_reads import TooLong, find_rows_within
from agent_core.ports.database import Together, finish_uncancelled, one_by_one
from agent_core.ports.loop_share import LoopShare
from agent_core.ports.priority import IS_AWAITED

logger = logging.getLogger(__name__)

T = TypeVar("T")

READER_THREADS = 2  # more would wait for the GIL
MAX_GROUPED_WRITES = 64
MAX_COMMIT_TRIES = 3  # on the event loop, each after a copy of the WAL has ended


@dataclass(frozen=True, slots=True)
class QueuedWrite:
    """A write that waits for the writer thread, and the future that reports its end."""

    change: Change
    saved: "Future[None]"


class FileConnections:
    """A connection for short reads, threads for long ones, for those that a person waits for, and for writes."""

    def __init__(self, url: str) -> None:
        self.outages = OutageLog()
        self.together: Together = one_by_one  # type: ignore[assignment]
        self._engine = make_file_engine(url)
        self._readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="reads")
        self._priority_reader = ThreadPoolExecutor(1, thread_name_prefix="reads-first")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writes")
        self._waiting: deque[QueuedWrite] = deque()
        self._connections = ThreadConnections(self._engine)
        self._short: ShortStatements | None = None
        self._loop_share = LoopShare()
        self._is_opening = False
        self._in_thread = 0  # how many writes the writer thread has
        self._writing = 0  # how many writes have not ended
        self._is_idle = asyncio.Event()  # whether nothing is being written
        self._is_idle.set()
        self._since_checkpoint = 0
        self._copying: asyncio.Future[None] | None = None  # the WAL into the database
        self._long = LongQueries()

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        if seconds is not None:  # a long read, so in a thread at once
            return await self._run(self._readers, partial(find_rows_within, seconds, query=query, values=values))
        if self._short is None and not self._is_opening:
            await self._open_short()
        if self._short and not self._long.holds(query):
            await self._loop_share.wait_for_turn()
            with suppress(TooLong):
                found = self._short.rows(query, values)
                self._long.note_short(query)
                return found
            self._long.note_long(query)
        ask = partial(find_rows, query=query, values=values)
        return await self._run(self._priority_reader if IS_AWAITED.get() else self._readers, ask)

    async def write(self, change: Change) -> None:
        self._writing += 1
        self._is_idle.clear()
        try:
            if not await self._commit_at_once(change):
                await self._commit_in_thread(change)
        finally:
            self._writing -= 1
            if not self._writing:
                self._is_idle.set()

    async def _commit_at_once(self, change: Change) -> bool:
        """Commit on the event loop's thread. Return False, with nothing saved, if the writer thread is to do it.

        For a moment a copy of the WAL keeps writers away. Waiting for its end is faster than the writer thread, which
        waits for the interpreter's lock at each statement, and would draw all commits of the next moments to it.
        """
        for _ in range(MAX_COMMIT_TRIES):
            if not self._short or self._in_thread or not self._short.commits_fast:
                return False
            await self._loop_share.wait_for_turn()
            with suppress(TooLong):
                self._short.commit(change)
                self._count_commit()
                return True
            if self._copying is None:
                return False
            await asyncio.wait((self._copying,))
        return False

    async def _commit_in_thread(self, change: Change) -> None:
        waiting = QueuedWrite(change, Future())
        self._waiting.append(waiting)
        self._writer.submit(self._write_group)
        self._in_thread += 1
        try:
            await finish_uncancelled(asyncio.wrap_future(waiting.saved))
        finally:
            self._in_thread -= 1

    async def empty_journal(self) -> bool:
        """Write the WAL into the database and truncate it, so that it has no content of deleted rows."""
        return await self._run(self._writer, empty_wal)

    async def close(self) -> None:
        await self._is_idle.wait()
        for threads in (self._readers, self._priority_reader, self._writer):
            threads.shutdown()
        self._connections.close()
        if self._short:
            self._short.close()
        self._engine.dispose()

    async def _open_short(self) -> None:
        """Open the connection in a thread, because SQLite may wait for another process. Others read in threads."""
        self._is_opening = True
        try:
            self._short = await self._run(self._readers, lambda _: ShortStatements(self._engine.connect()))
        finally:
            self._is_opening = False

    def _count_commit(self) -> None:
        """Every now and then let the writer thread copy the WAL into the database, which takes milliseconds."""
        self._since_checkpoint += 1
        if self._since_checkpoint < COMMITS_BETWEEN_CHECKPOINTS or self._copying:
            return
        self._since_checkpoint = 0
        copy = partial(self._connections.run, copy_wal)
        self._copying = asyncio.get_running_loop().run_in_executor(self._writer, copy)
        self._copying.add_done_callback(self._end_copying)

    def _end_copying(self, copied: "asyncio.Future[None]") -> None:
        self._copying = None
        if not copied.cancelled() and (error := copied.exception()):
            logger.warning("the write-ahead log was not copied into the database", extra={"why": str(error)})

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await finish_uncancelled(loop.run_in_executor(threads, partial(self._connections.run, work)))

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


def _run_grouped(connection: Connection, changes: Sequence[Change]) -> list[Exception | None]:
    """Run changes in one transaction, each in a savepoint. Return the error of each, None if it succeeded."""
    if len(changes) == 1:
        return [_run_alone(connection, changes[0])]
    with transaction(connection):
        return [_run_in_savepoint(connection, change) for change in changes]


def _run_alone(connection: Connection, change: Change) -> Conflict | None:
    """Run one change in a transaction, which needs no savepoint."""
    try:
        run_in_transaction(connection, change)
    except Conflict as conflict:
        return conflict
    return None


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
