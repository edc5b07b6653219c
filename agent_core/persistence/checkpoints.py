"""Copies the write-ahead log (WAL) of a SQLite file into the database, so that the log stays small."""

from sqlalchemy import Connection

from agent_core.persistence.connections import BUSY_TIMEOUT

COMMITS_BETWEEN_CHECKPOINTS = 64  # about 1,000 pages, after which SQLite copies by itself


def copy_wal(connection: Connection) -> None:
    """Copy the WAL into the database, and let the next commit overwrite the WAL from its start.

    The event loop's thread commits meanwhile, so the first copy seldom reaches the end of the WAL, which would grow.
    The second one has little left to copy, so it can keep all writers away while it does. It is left out if busy.
    """
    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").all()
    _checkpoint_without_wait(connection, "RESTART")


def empty_wal(connection: Connection) -> bool:
    """Copy the WAL and truncate it. Return False, without waiting, if another connection reads an older state."""
    return _checkpoint_without_wait(connection, "TRUNCATE")


def _checkpoint_without_wait(connection: Connection, mode: str) -> bool:
    """Return False if another connection writes, or reads an older state of the database."""
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        is_busy, _, _ = connection.exec_driver_sql(f"PRAGMA wal_checkpoint({mode})").one()
    finally:
        connection.exec_driver_sql(BUSY_TIMEOUT)
    return not is_busy
