"""Engines of SQLAlchemy with the options of this program, and transactions on their connections."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from sqlite3 import OperationalError
from typing import Any, Protocol, TypeAlias, TypeVar

from sqlalchemy import URL, Connection, Engine, Executable, Row, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent_core.errors import CommitUnknown
from agent_core.persistence.outages import OutageLog, is_outage
from agent_core.persistence.prepared_statements import Values
from agent_core.persistence.writes import Writes
from agent_core.ports.database import Together

T = TypeVar("T")
Change: TypeAlias = Callable[[Connection], None]

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
BUSY_TIMEOUT = "PRAGMA busy_timeout = 5000"
PRAGMAS = ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON")
WRITE_AHEAD = "PRAGMA journal_mode = WAL"
MAX_ATTEMPTS = 20
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


class Connections(Protocol):
    """Connections to one database. A commit that has started runs to its end, even if its caller is cancelled."""

    outages: OutageLog
    together: Together

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        """Run a query on committed data; with `seconds`, raise TooLong if it takes longer."""

    async def write(self, writes: Writes) -> None:
        """Save all of them, or none; raise Conflict."""

    async def empty_journal(self) -> bool:
        """See `Deletions.empty_journal`."""

    async def close(self) -> None:
        """Close all connections. The caller makes sure that none is in use."""


def make_file_engine(url: str) -> Engine:
    """An engine for SQLite whose connections may move between threads."""
    address = make_url(url).set(drivername="sqlite")
    engine = create_engine(address, connect_args={"check_same_thread": False}, **OPTIONS)
    event.listen(engine, "connect", _prepare)
    return engine


def make_engine(url: str, statement_seconds: float | None = None) -> AsyncEngine:
    """An async engine, for migrations on both databases, for PostgreSQL's pool, and for tests.

    `statement_seconds`: a statement that takes longer on PostgreSQL fails; None, as for migrations, is no limit.
    """
    address = async_url(url)
    is_sqlite = address.get_backend_name() == "sqlite"
    options = {} if is_sqlite else {"connect_args": {**SERVER_OPTIONS, "command_timeout": statement_seconds}}
    engine = create_async_engine(address, **OPTIONS, **options)
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


def run_in_transaction(connection: Connection, change: Change) -> None:
    """Run the change in a transaction of its own."""
    with transaction(connection):
        change(connection)


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
