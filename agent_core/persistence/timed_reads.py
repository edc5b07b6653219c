"""Reads of SQLite that end when their time is over."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Executable, Row
from sqlalchemy.exc import DBAPIError

from agent_core.persistence.prepared_statements import Values, find_rows

INTERVAL_SECONDS = 0.01


class TooLong(Exception):
    """A read took longer than it may."""


def find_rows_within(seconds: float, connection: Connection, query: Executable, values: Values) -> Sequence[Row[Any]]:
    """All rows that the query finds; raise TooLong when it takes longer than that many seconds."""
    with _limit(connection, seconds):
        return find_rows(connection, query, values)


@contextmanager
def _limit(connection: Connection, seconds: float) -> Iterator[None]:
    """By another thread: SQLite itself then ends between two records, while the interpreter's lock is not held."""
    driver: Any = connection.connection.driver_connection
    is_over = threading.Event()
    watcher = threading.Thread(target=_interrupt_after, args=(seconds, driver, is_over), name="time limit")
    watcher.start()
    try:
        yield
    except (DBAPIError, sqlite3.OperationalError) as error:
        inner = error.orig if isinstance(error, DBAPIError) else error
        if getattr(inner, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise TooLong from error
        raise
    finally:
        is_over.set()
        watcher.join()  # it interrupts no later statement


def _interrupt_after(seconds: float, driver: Any, is_over: threading.Event) -> None:
    """Interrupt again and again until the read is over: SQLite forgets what comes before a statement runs."""
    while not is_over.wait(seconds):
        driver.interrupt()
        seconds = INTERVAL_SECONDS
