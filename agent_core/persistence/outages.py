"""Translates the drivers' errors: DatabaseAway while the database cannot be used, Conflict for concurrent changes."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from agent_core.errors import Conflict, DatabaseAway

SQLITE_CONTENTION = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED
SQLITE_UNAVAILABLE = (10, 13, 14)  # SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: no descriptor, no disk, no folder
POSTGRES_CONTENTION = ("40001", "40P01")  # serialization_failure, deadlock_detected
# PostgreSQL's classes of SQLSTATE (its manual, appendix A) that end with a restart, a failover or free resources:
# connection exception, insufficient resources, operator intervention (57P01 to 57P05: shutdown, crash, starting up;
# 57014: a statement took too long), system error, 25006: a standby accepts no writes, 25P03: a session was idle too
# long, 55P03: a lock was not available in time.
POSTGRES_UNAVAILABLE = ("08", "53", "57P", "57014", "58", "25006", "25P03", "55P03")


@contextmanager
def translate_outage() -> Iterator[None]:
    """Raise DatabaseAway for an error that says that the database cannot be reached or used for now."""
    try:
        yield
    except Exception as error:
        if not is_outage(error):
            raise
        raise DatabaseAway(f"The database cannot be used now ({_said(error)}).") from error


@contextmanager
def translate_conflict() -> Iterator[None]:
    """Raise Conflict for an error that says that another unit of work changed the same records."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict("A unique constraint or foreign key was violated.") from error
    except DBAPIError as error:
        if not _is_contention(error.orig):
            raise
        raise Conflict("Another unit of work changed the same records.") from error


def is_database_error(error: BaseException) -> bool:
    """Whether the database, its driver or SQLAlchemy raised the error."""
    return isinstance(error, SQLAlchemyError) or bool(_sqlstate(error))


def is_outage(error: BaseException) -> bool:
    """Whether the error may pass without a change. While it connects, asyncpg raises its own classes of errors."""
    if isinstance(error, OSError | PoolTimeout):
        return True
    inner = error.orig if isinstance(error, DBAPIError) else error
    if _sqlite_code(inner) in SQLITE_UNAVAILABLE or _sqlstate(inner).startswith(POSTGRES_UNAVAILABLE):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_contention(error: BaseException | None) -> bool:
    return _sqlite_code(error) in SQLITE_CONTENTION or _sqlstate(error) in POSTGRES_CONTENTION


def _said(error: BaseException) -> str:
    inner = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return str(inner).partition("\n")[0] or type(inner).__name__


def _sqlstate(error: BaseException | None) -> str:
    return getattr(error, "sqlstate", None) or ""


def _sqlite_code(error: BaseException | None) -> int:
    """SQLite's primary result code; 0 for an error that is not SQLite's."""
    extended: int = getattr(error, "sqlite_errorcode", 0)
    return extended & 0xFF
