"""Statements that are compiled once for a database and then run by its driver directly.

SQLAlchemy takes three to five times as long for a statement as a database for finding a row. A statement is compiled
by SQLAlchemy, and its types convert values; only what repeats at each execution is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from sqlalchemy import CompoundSelect, Connection, Dialect, Executable, Row, Select, make_url
from sqlalchemy.engine import result_tuple

Values: TypeAlias = Mapping[str, object]
Convert: TypeAlias = Callable[[Any], Any] | None
ReadRow: TypeAlias = Callable[[Sequence[Any]], Row[Any]]
MAX_PREPARED = 512


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A statement as SQL of one database.

    `binds`: for each placeholder the parameter's name, its value if none is given, and the conversion of values.
    `read`: makes a row of what the driver found.
    """

    sql: str
    binds: tuple[tuple[str, object, Convert], ...]
    read: ReadRow

    def bind(self, values: Values) -> tuple[object, ...]:
        """The values in the order of the placeholders."""
        get = values.get
        return tuple(
            [
                get(name, default) if convert is None else convert(get(name, default))
                for name, default, convert in self.binds
            ]
        )


def find_rows(
    connection: Connection, query: Executable, values: Values, after_row: Callable[[], None] = lambda: None
) -> Sequence[Row[Any]]:
    """All rows that the query finds in SQLite. `after_row` is called after each row of a prepared query."""
    prepared = prepare(query, tuple(values), _sqlite()) if _names_columns(query) else None
    if prepared is None:
        return connection.execute(query, values).all()
    rows = []
    for found in _driver(connection).execute(prepared.sql, prepared.bind(values)):
        rows.append(prepared.read(found))
        after_row()
    return rows


def change_rows(connection: Connection, statement: Executable, values: Values | Sequence[Values]) -> int:
    """Run a statement that writes to SQLite, once for each mapping of values; return how many rows it changed."""
    rows = [values] if isinstance(values, Mapping) else values
    prepared = prepare(statement, tuple(rows[0]), _sqlite())
    if prepared is None:
        return connection.execute(statement, values).rowcount
    cursor = _driver(connection).executemany(prepared.sql, [prepared.bind(row) for row in rows])
    return int(cursor.rowcount)


@lru_cache(MAX_PREPARED)
def prepare(statement: Any, names: tuple[str, ...], dialect: Dialect) -> PreparedStatement | None:
    """Prepare the statement; None if its SQL depends on how many values it gets. Raise InvalidRequestError without one.

    `names`: the parameters that get values.
    """
    compiled = compile_statement(statement, names, dialect)
    if compiled.post_compile_params:
        return None
    of_columns = {column.key: column.default.arg for column in compiled.insert_prefetch}
    defaults = compiled.construct_params(dict.fromkeys(names)) | of_columns
    return PreparedStatement(
        sql=str(compiled),
        binds=tuple(
            (name, defaults[name], compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup
        ),
        read=row_reader(statement, dialect),
    )


@lru_cache(MAX_PREPARED)
def compile_statement(statement: Any, names: tuple[str, ...], dialect: Dialect) -> Any:
    """The statement as SQLAlchemy compiles it for these parameters."""
    return statement.compile(dialect=dialect, column_keys=list(names))


@lru_cache(MAX_PREPARED)
def row_reader(statement: Any, dialect: Dialect) -> ReadRow:
    """What makes rows of this statement; rows without columns for one that finds none."""
    columns = tuple(statement.selected_columns) if _names_columns(statement) else ()
    converters = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    converted = tuple((number, convert) for number, convert in enumerate(converters) if convert)
    as_row: ReadRow = result_tuple([column.key or "" for column in columns])

    def read(found: Sequence[Any]) -> Row[Any]:
        values = list(found)
        for number, convert in converted:
            values[number] = convert(values[number])
        return as_row(values)

    return read if converted else as_row


def _names_columns(statement: Executable) -> bool:
    """Whether the statement knows its columns with their types. Text does not."""
    return isinstance(statement, Select | CompoundSelect)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@cache
def _sqlite() -> Dialect:
    """The same for all databases of a process, so that each statement is compiled once."""
    return make_url("sqlite+aiosqlite://").get_dialect()()
