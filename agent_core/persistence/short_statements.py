"""Reads and commits of a SQLite file that are so short that they run on the event loop's thread.

A switch to another thread and back takes longer than most reads, and on a fast disk about as long as a commit. What
takes longer than expected is undone and raises TooLong, so that the caller repeats it in a thread. Between many short
statements the event loop does its other work.
"""

import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Executable, Row
from sqlalchemy.exc import OperationalError

from agent_core.persistence.connections import Change
from agent_core.persistence.prepared_statements import Values, find_rows
from agent_core.persistence.timed_reads import TooLong

SHORT_SECONDS = 0.001  # first by the clock, then of this thread's CPU: a busy machine makes a thread no faster
MAX_WAIT_SECONDS = 0.05  # by the clock, for a disk that is slow
STEPS_BETWEEN_CHECKS = 2_000  # of SQLite's virtual machine: about 50 µs
FAST_COMMIT_SECONDS = 0.001  # above it a thread costs less, because it saves what waits with one fsync
SLOW_WEIGHT, MAX_WEIGHT = 2, 6  # a disk is slow if more than a third of its commits are
SLOW_REMEMBERED_SECONDS = 10.0
PRAGMAS = ("busy_timeout = 0", "wal_autocheckpoint = 0")  # waits for nothing, and copies the WAL nowhere


class ShortStatements:
    """A connection of the event loop's thread. It never waits for another one.

    `elapsed`: seconds by a clock that only grows. `computed`: seconds of CPU of this thread.
    """

    def __init__(
        self,
        connection: Connection,
        elapsed: Callable[[], float] = time.perf_counter,
        computed: Callable[[], float] = time.thread_time,
    ) -> None:
        self._connection = connection
        self._elapsed, self._computed = elapsed, computed
        self._begun = self._computes_until = math.inf
        self._slowness = 0
        self._slow_until = 0.0
        for pragma in PRAGMAS:
            connection.exec_driver_sql(f"PRAGMA {pragma}")
        driver: Any = connection.connection.driver_connection
        self._driver = driver
        driver.set_progress_handler(self._is_over, STEPS_BETWEEN_CHECKS)

    @property
    def commits_fast(self) -> bool:
        """Whether the disk took less than FAST_COMMIT_SECONDS for most of the newest commits."""
        return self._elapsed() >= self._slow_until

    def rows(self, query: Executable, values: Values) -> Sequence[Row[Any]]:
        """What `query` finds; raise TooLong if it takes long, or would have to wait for another connection."""
        self._limit_time()
        try:
            return find_rows(self._connection, query, values, self._require_time)
        except (OperationalError, sqlite3.OperationalError) as error:  # or another fault, which the thread meets again
            raise TooLong from error

    def commit(self, change: Change) -> None:
        """Run a change in a transaction, or raise TooLong as `rows` does, with nothing saved."""
        self._limit_time()
        try:
            self._driver.execute("BEGIN IMMEDIATE")
            change(self._connection)
        except (OperationalError, sqlite3.OperationalError) as error:
            self._roll_back()
            raise TooLong from error
        except BaseException:
            self._roll_back()
            raise
        self._lift_limits()
        begun = self._elapsed()
        try:
            self._driver.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._note_duration(self._elapsed() - begun)

    def close(self) -> None:
        self._connection.close()

    def _roll_back(self) -> None:
        """Roll back, unless SQLite has done so by itself, because the disk is full. Nothing interrupts this."""
        self._lift_limits()  # SQLite counts the steps of a statement over all its runs
        if self._driver.in_transaction:
            with suppress(sqlite3.Error):  # an error here must not hide the first one
                self._driver.execute("ROLLBACK")

    def _note_duration(self, seconds: float) -> None:
        self._slowness = max(0, self._slowness + (SLOW_WEIGHT if seconds > FAST_COMMIT_SECONDS else -1))
        if self._slowness >= MAX_WEIGHT:
            self._slow_until = self._elapsed() + SLOW_REMEMBERED_SECONDS
            self._slowness = 0

    def _limit_time(self) -> None:
        self._begun = self._elapsed()
        self._computes_until = math.inf

    def _lift_limits(self) -> None:
        self._begun = math.inf

    def _is_over(self) -> bool:
        """Whether the time is over. CPU time is read only when it matters: a short read takes as long as reading it."""
        waited = self._elapsed() - self._begun
        if waited < SHORT_SECONDS:
            return False
        if self._computes_until == math.inf:
            self._computes_until = self._computed() + SHORT_SECONDS
        return waited > MAX_WAIT_SECONDS or self._computed() > self._computes_until

    def _require_time(self) -> None:
        if self._is_over():
            raise TooLong
