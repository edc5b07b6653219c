"""Reads all rows of a database as lines of JSON for an export, and writes them into an empty database.

A line is one row: an object with a field for each column, in ASCII. Texts are as they are stored (see `AnyText`), times
are in ISO 8601, bytes in base64. At most BATCH_ROWS rows are in memory.

An import is one transaction: one that is interrupted leaves the database empty.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from threading import Event
from typing import Any, TypeAlias

from sqlalchemy import Connection, LargeBinary, TableClause, Text, column, delete, insert, select, table
from sqlalchemy.exc import DBAPIError

from agent_core.errors import TransferRefused
from agent_core.model.files import DATABASE_ID
from agent_core.persistence.connections import is_outage, make_engine, transaction, translate_outage
from agent_core.persistence.schema import HEAD, read_version, run_on, upgrade, version
from agent_core.persistence.tables import AnyText, UtcDateTime, metadata, preferences
from agent_core.persistence.text_search import put_all_texts

Take: TypeAlias = Callable[[str, Iterator[bytes]], None]
Give: TypeAlias = Callable[[str], Generator[bytes, None, None]]
Values: TypeAlias = dict[str, Any]

BATCH_ROWS = 200
SNAPSHOT = {"sqlite": "BEGIN", "postgresql": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"}
BYTE_ORDER = {"sqlite": "BINARY", "postgresql": "C"}  # collations, so that both databases sort alike
LEFT_OUT = ("texts",)  # made from the records
TABLES = tuple(  # agents before the records that refer to them
    each for each in metadata.sorted_tables if each.name not in LEFT_OUT
)
NAMES = tuple(each.name for each in TABLES)
_KEYS = {each.name: tuple(each.primary_key.columns.keys()) for each in TABLES}
_STORED: dict[str, TableClause] = {
    each.name: table(
        each.name,
        *(
            column(own.name, Text() if isinstance(own.type, AnyText) else own.type)
            for own in each.columns
            if not own.computed
        ),
    )
    for each in TABLES
}


async def read_rows(url: str, take: Take) -> None:
    """Pass each table's name and its rows, ordered by key, to `take`. All rows are of one snapshot.

    Raise TransferRefused if the tables are not of this release, DatabaseAway.
    """
    await _run(url, partial(_read, take=take))


async def require_empty(url: str) -> None:
    """Create missing tables; raise TransferRefused if the database is not empty or of another release, DatabaseAway."""
    with translate_outage():
        if not await version(url):
            await upgrade(url)
    await _run(url, _require_empty)


async def write_rows(url: str, give: Give) -> None:
    """Add the rows that `give` returns for each table's name to an empty database, in one transaction.

    Let people search in what was imported, and leave out the id of the other database. Raise TransferRefused,
    DatabaseAway.
    """
    await _run(url, partial(_write, give=give))


async def _run(url: str, work: Callable[..., Any]) -> Any:
    """Run it in a thread. If the caller is cancelled, it ends at its next batch."""
    is_cancelled = Event()
    running = asyncio.ensure_future(run_on(make_engine(url), partial(work, is_cancelled=is_cancelled)))
    with translate_outage():
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            is_cancelled.set()
            await asyncio.wait((running,))
            running.exception()  # else asyncio logs that nothing retrieved it
            raise


def _read(connection: Connection, take: Take, is_cancelled: Event) -> None:
    with snapshot(connection):
        require_head(read_version(connection))
        for name in NAMES:
            with closing(_lines(connection, name, is_cancelled)) as lines:  # also if `take` fails
                take(name, lines)


@contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """Reads of one state of the database, whatever others save meanwhile."""
    with connection.begin():
        connection.exec_driver_sql(SNAPSHOT[connection.dialect.name])
        yield


def _lines(connection: Connection, name: str, is_cancelled: Event) -> Generator[bytes, None, None]:
    stored = _STORED[name]
    order = (stored.c[key].collate(BYTE_ORDER[connection.dialect.name]) for key in _KEYS[name])
    statement = select(stored).order_by(*order).execution_options(yield_per=BATCH_ROWS)
    with connection.execute(statement) as rows:
        for row in rows.mappings():
            _require_going_on(is_cancelled)
            yield json.dumps(dict(row), default=_plain, separators=(",", ":")).encode() + b"\n"


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not a type of a column")


def _require_empty(connection: Connection, is_cancelled: Event) -> None:
    require_head(read_version(connection))
    if any(connection.execute(select(_STORED[name]).limit(1)).first() for name in NAMES):
        raise TransferRefused("The database is not empty, and an import needs an empty one.")


def _write(connection: Connection, give: Give, is_cancelled: Event) -> None:
    with transaction(connection):
        _require_empty(connection, is_cancelled)
        for name in NAMES:
            with closing(give(name)) as lines:
                for batch in _batches(name, lines):
                    _require_going_on(is_cancelled)
                    with _refuse_unstorable(name):
                        connection.execute(insert(_STORED[name]), batch)
        put_all_texts(connection)
        connection.execute(delete(preferences).where(preferences.c.key == DATABASE_ID))


def _require_going_on(is_cancelled: Event) -> None:
    if is_cancelled.is_set():
        raise InterruptedError("The transfer was cancelled.")


def require_head(found: str) -> None:
    """Raise TransferRefused unless the tables are of this release."""
    if found > HEAD:
        raise TransferRefused(f"The tables are of a newer release ({found}; this one has {HEAD}): use that release.")
    if found != HEAD:
        age = f"are of an older release ({found}; this one has {HEAD})" if found else "are missing"
        raise TransferRefused(f"The tables {age}: run `migrate` first, or use that release.")


def _batches(name: str, lines: Iterable[bytes]) -> Iterator[Sequence[Values]]:
    rest = iter(lines)
    while batch := [_values(name, line) for line in islice(rest, BATCH_ROWS)]:
        yield batch


def _values(name: str, line: bytes) -> Values:
    columns = [(each.key, each.type) for each in _STORED[name].c]
    try:
        row = json.loads(line)
        return {key: _value(kind, row[key]) for key, kind in columns}
    except (ValueError, TypeError, LookupError) as fault:
        raise TransferRefused(f"The file is damaged: {name} has a line that is no row.") from fault


def _value(kind: object, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, UtcDateTime):
        return datetime.fromisoformat(value)
    return b64decode(value, validate=True) if isinstance(kind, LargeBinary) else value


@contextmanager
def _refuse_unstorable(name: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if is_outage(error):
            raise
        raise TransferRefused(f"The file is damaged: {name} has a row that cannot be stored.") from error
