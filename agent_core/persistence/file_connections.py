"""Connections to a SQLite file: reads on the event loop's thread, commits in a thread of their own.

Most reads find a few rows by an index in less time than a switch to another thread takes. SQLite has one writer, and a
commit waits for the disk.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Row
from sqlalchemy.exc import OperationalError

from agent_core.persistence.connections import BUSY_TIMEOUT, TooLong, make_engine, transaction
from agent_core.persistence.outages import OutageLog
from agent_core.persistence.writes import Values, Writes
from agent_core.ports.database import finish_uncancelled

T = TypeVar("T")

STEPS_BETWEEN_CHECKS = 100  # of SQLite's virtual machine, in a read that has a limit of time


class FileConnections:
    """See `Connections`."""

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
