"""What one unit of work saves at its commit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, Executable, Row

from agent_core.errors import Conflict

Values: TypeAlias = Mapping[str, object]
AGENTS, RECORDS, JOBS = range(3)  # every commit locks rows in this order, so that no two wait for each other
SAVED_ELSEWHERE = "A record was saved elsewhere since it was read."


@dataclass(frozen=True, slots=True)
class Write:
    """A statement with its values. If it is `checked`, the commit raises Conflict when the statement changes no row."""

    statement: Executable
    values: Values | Sequence[Values]
    checked: bool = False
    rank: int = RECORDS

    def require_change(self, changed: int) -> None:
        """Raise Conflict if it is checked, and changed no row."""
        if self.checked and changed == 0:
            raise Conflict(SAVED_ELSEWHERE)


@dataclass(frozen=True, slots=True)
class DecidedWrite:
    """A write that depends on what the transaction reads before it.

    `lock`: a statement with which a server keeps out others from before the read until the commit; SQLite's
    transaction does so by itself. `decide` may run more than once, and may raise an error, which saves nothing.
    """

    lock: Executable
    query: Executable
    values: Values
    decide: Callable[[Sequence[Row[Any]]], Write]
    rank: int = RECORDS


BufferedWrite: TypeAlias = Write | DecidedWrite


@dataclass(frozen=True, slots=True)
class Writes:
    """The writes of one unit of work, in their order. Called with a connection to SQLite, it runs them there."""

    queued: Sequence[BufferedWrite]

    def __call__(self, connection: Connection) -> None:
        for each in self.queued:
            write = each
            if isinstance(write, DecidedWrite):
                write = write.decide(connection.execute(write.query, write.values).all())
            write.require_change(connection.execute(write.statement, write.values).rowcount)
