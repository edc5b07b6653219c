"""Translates the drivers' errors: DatabaseAway while the database cannot be used, Conflict for concurrent changes."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from agent_core.errors import Conflict, DatabaseAway

logger = logging.getLogger(__name__)

SQLITE_CONTENTION = (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED
SQLITE_UNAVAILABLE = (10, 13, 14)  # SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: no descriptor, no disk, no folder
POSTGRES_VIOLATION = "23"  # the class of integrity_constraint_violation
POSTGRES_CONTENTION = ("40001", "40P01")  # serialization_failure, deadlock_detected
# PostgreSQL's classes of SQLSTATE (its manual, appendix A) that end with a restart, a failover or free resources:
# connection exception, insufficient resources, operator intervention (57P01 to 57P05: shutdown, crash, starting up;
# 57014: a statement took too long), system error, 25006: a standby accepts no writes, 25P03: a session was idle too
# long, 55P03: a lock was not available in time.
REFUSED = (
    "authentication failed",
    "no password supplied",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied",
)  # for good
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
