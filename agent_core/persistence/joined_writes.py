"""Joins writes of one unit of work into one statement of PostgreSQL, which takes one round trip.

A single statement is a transaction of its own, so BEGIN, COMMIT and a trip for each write are left out. Its parts do
not see what the others change, so only writes to different rows are joined. A checked write that changes no row makes
the statement fail, and with it all the others.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import BinaryExpression, BindParameter, Column, Delete, Insert, SelectBase, Table, TextClause, Update
from sqlalchemy.sql import operators, visitors

from agent_core.persistence.prepared_statements import MAX_PREPARED
from agent_core.persistence.server_statements import bind_statement
from agent_core.persistence.tables import metadata
from agent_core.persistence.writes import SAVED_ELSEWHERE, BufferedWrite, DecidedWrite, Write

MAX_JOINED = 32
PLACEHOLDER = re.compile(r"\$(\d+)")
UPSERT = re.compile(r"INSERT INTO (\w+) \([^)]*\) VALUES \([^)]*\) ON CONFLICT \(([^)]*)\)")
CASCADING = {key.column.table for table in metadata.tables.values() for key in table.foreign_keys}

Key: TypeAlias = tuple[object, ...]
Step: TypeAlias = DecidedWrite | Sequence[Write]


@dataclass(frozen=True, slots=True)
class StatementTarget:
    """A table, and the parameters with the primary key of the row that is written; () for unknown rows."""

    table: str
    key: tuple[str, ...]


@dataclass(slots=True)
class _Joined:
    """Writes to different rows, and the keys of these rows for each table; the key () stands for unknown rows."""

    writes: list[Write] = field(default_factory=list)
    keys: dict[str, set[Key]] = field(default_factory=dict)

    def add(self, write: Write, table: str, key: Key) -> bool:
        """Add the write unless it may touch a row of another one. Return whether it was added."""
        keys = self.keys.setdefault(table, set())
        if len(self.writes) == MAX_JOINED or key in keys or () in keys or (keys and not key):
            return False
        keys.add(key)
        self.writes.append(write)
        return True


def split_into_steps(queued: Iterable[BufferedWrite]) -> Sequence[Step]:
    """The writes in their order, those together that can be joined."""
    steps: list[Step] = []
    joined = _Joined()
    for each in queued:
        row = _row_of(each)
        if row is None or isinstance(each, DecidedWrite):
            steps.append([each] if isinstance(each, Write) else each)
            joined = _Joined()
        elif not joined.writes or not joined.add(each, *row):
            joined = _Joined()
            joined.add(each, *row)
            steps.append(joined.writes)
    return steps


def join_writes(writes: Sequence[Write]) -> tuple[str, Sequence[object]]:
    """The writes as one statement, with its arguments."""
    bound = [bind_statement(write.statement, write.values) for write in writes if isinstance(write.values, Mapping)]
    parts = tuple(
        (sql, len(arguments), write.checked) for write, (sql, arguments, _) in zip(writes, bound, strict=True)
    )
    return _join(parts), list(chain.from_iterable(arguments for _, arguments, _ in bound))


@lru_cache(MAX_PREPARED)
def _join(parts: Sequence[tuple[str, int, bool]]) -> str:
    """One statement of several: their SQL, the numbers of their arguments, and whether each has to change a row.

    What is selected runs them in their order. A sentence is no integer, so casting it fails.
    """
    changes, results, before = [], [], 0
    for number, (sql, arguments, is_checked) in enumerate(parts):
        changes.append(f"change_{number} AS ({_renumber(sql, before)} RETURNING 1)")
        has_changed = f"EXISTS (TABLE change_{number})"
        fails = f"CAST(CASE WHEN {has_changed} THEN '1' ELSE '{SAVED_ELSEWHERE}' END AS int)"
        results.append(fails if is_checked else has_changed)
        before += arguments
    return f"WITH {', '.join(changes)} SELECT {', '.join(results)}"


def _renumber(sql: str, before: int) -> str:
    return PLACEHOLDER.sub(lambda found: f"${int(found[1]) + before}", sql)


def _row_of(each: BufferedWrite) -> tuple[str, Key] | None:
    """Table and key of the row that it writes, () for unknown rows of the table; None if it is to run alone."""
    if isinstance(each, DecidedWrite) or not isinstance(each.values, Mapping):
        return None
    target, values = _target(each.statement), each.values
    return (target.table, tuple(values.get(name) for name in target.key)) if target else None


@lru_cache(MAX_PREPARED)
def _target(statement: Any) -> StatementTarget | None:
    """What a statement writes; None if it reads or changes other rows too."""
    if isinstance(statement, TextClause):
        upsert = UPSERT.match(statement.text)
        return StatementTarget(upsert[1], tuple(upsert[2].split(", "))) if upsert else None
    if any(isinstance(each, SelectBase) for each in visitors.iterate(statement)):
        return None
    table: Table = statement.table
    names = [column.name for column in table.primary_key]
    if isinstance(statement, Insert):
        return StatementTarget(table.name, tuple(names))
    if isinstance(statement, Delete) and table in CASCADING:
        return None
    equal = _equal_columns(statement)
    return StatementTarget(table.name, tuple(equal[name] for name in names) if set(names) <= set(equal) else ())


def _equal_columns(statement: Update | Delete) -> Mapping[str, str]:
    """The columns that the condition compares with a parameter, and the names of these parameters."""
    where: Any = statement.whereclause
    conditions = where.clauses if getattr(where, "operator", None) is operators.and_ else [where]
    return {
        each.left.name: each.right.key
        for each in conditions
        if isinstance(each, BinaryExpression)
        and each.operator is operators.eq
        and isinstance(each.left, Column)
        and isinstance(each.right, BindParameter)
    }
