"""Statements that are compiled once for SQLite and then run by its driver directly.

SQLAlchemy takes three to five times as long for a statement as SQLite itself for finding a row. A statement is compiled
by SQLAlchemy, and its types convert values; only what repeats at each execution is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    CompoundSelect,
    Connection,
    Dialect,
    Executable,
    Row,
    Select,
    make_url,
)
from sqlalchemy.engine import result_tuple

Values: TypeAlias = Mapping[str, object]
Convert: TypeAlias = Callable[[Any], Any] | None
MAX_PREPARED = 512


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A statement as SQLite's SQL.

    `binds`: for each `?` the parameter's name, its value if none is given, and the conversion of values.
    `columns`: the number and conversion of each column that has one.
    """

    sql: str
    binds: tuple[tuple[str, object, Convert], ...]
    columns: tuple[tuple[int, Callable[[Any], Any]], ...]
    as_row: Callable[[Sequence[Any]], Row[Any]]

    def bind(self, values: Values) -> tuple[object, ...]:
        """The values in the order of the placeholders."""
        get = values.get
        return tuple(
            [
                get(name, default) if convert is None else convert(get(name, default))
                for name, default, convert in self.binds
            ]
        )

    def read(self, found: Sequence[Any]) -> Row[Any]:
        """A row from what the driver found."""
        if self.columns:
            converted = list(found)
            for number, convert in self.columns:
                converted[number] = convert(converted[number])
            found = converted
        return self.as_row(found)


def find_rows(
    connection: Connection, query: Executable, values: Values, after_row: Callable[[], None] = lambda: None
) -> Sequence[Row[Any]]:
    """All rows that the query finds. `after_row` is called after each row of a prepared query."""
    prepared = _prepare_query(query, tuple(values)) if _is_sqlite(connection) else None
    if prepared is None:
        return connection.execute(query, values).all()
    rows = []
    for found in _driver(connection).execute(prepared.sql, prepared.bind(values)):
        rows.append(prepared.read(found))
        after_row()
    return rows


def change_rows(connection: Connection, statement: Executable, values: Values | Sequence[Values]) -> int:
    """Run a statement that writes, once for each mapping of values; return how many rows it changed."""
    rows = [values] if isinstance(values, Mapping) else values
    prepared = _prepare_change(statement, tuple(rows[0])) if _is_sqlite(connection) else None
    if prepared is None:
        return connection.execute(statement, values).rowcount
    cursor = _driver(connection).executemany(prepared.sql, [prepared.bind(row) for row in rows])
    return int(cursor.rowcount)


def _is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@cache
def _sqlite() -> Dialect:
    """The same for all databases of a process, so that each statement is compiled once."""
    return make_url("sqlite+aiosqlite://").get_dialect()()


@lru_cache(MAX_PREPARED)
def _prepare_query(query: Any, names: tuple[str, ...]) -> PreparedStatement | None:
    """Compile the query; None for text, which does not name the types of its columns."""
    if not isinstance(query, Select | CompoundSelect):
        return None
    return _prepare(query, names, tuple(query.selected_columns))


@lru_cache(MAX_PREPARED)
def _prepare_change(statement: Any, names: tuple[str, ...]) -> PreparedStatement | None:
    return _prepare(statement, names, ())


def _prepare(
    statement: ClauseElement, names: tuple[str, ...], columns: Sequence[ColumnElement[Any]]
) -> PreparedStatement | None:
    """Compile the statement; None if its SQL depends on how many values it gets. Raise InvalidRequestError without one.

    `names`: the parameters that get values.
    """
    dialect = _sqlite()
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.post_compile_params:
        return None
    of_columns = {column.key: column.default.arg for column in compiled.insert_prefetch}
    defaults = compiled.construct_params(dict.fromkeys(names)) | of_columns
    conversions = (column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns)
    return PreparedStatement(
        sql=str(compiled),
        binds=tuple(
            (name, defaults[name], compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup
        ),
        columns=tuple((number, convert) for number, convert in enumerate(conversions) if convert),
        as_row=result_tuple([column.key or "" for column in columns]),
    )
