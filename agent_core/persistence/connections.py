"""Engines of SQLAlchemy with the options of this program, and transactions on their connections."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from sqlite3 import OperationalError
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, Executable, Row, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.persistence.outages import OutageLog
from agent_core.persistence.writes import Values, Writes

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
        with suppress(OperationalError):
            cursor.execute(WRITE_AHEAD)
            return
        # Another process is creating the file. The pragma ignores busy_timeout; BEGIN IMMEDIATE waits.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
    cursor.execute(WRITE_AHEAD)
