"""SQLite with one trip to the connection's thread for each statement.

aiosqlite makes four: open a cursor, execute, fetch, close. On a busy machine the trips are what a commit costs.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiosqlite


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement gave."""

    description: Any = None
    rowcount: int = -1
    lastrowid: int | None = None
    rows: Sequence[Any] = ()


class OneHopConnection(aiosqlite.Connection):
    """A connection to the file, for SQLAlchemy to use in place of aiosqlite's own."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(lambda: sqlite3.connect(path, **options), iter_chunk_size=64)
        self._thread.daemon = True  # a process that ends does not wait for its connections

    def cursor(self) -> "OneHopCursor":  # type: ignore[override]
        """Make a cursor that opens when it executes."""
        return OneHopCursor(self)

    async def answer(self, method: str, sql: str, parameters: Sequence[Any]) -> Answer:
        """Open a cursor, call its method, fetch all and close it, in the connection's thread."""
        answer: Answer = await self._execute(self._answer, method, sql, parameters)  # type: ignore[no-untyped-call]
        return answer

    def _answer(self, method: str, sql: str, parameters: Sequence[Any]) -> Answer:
        cursor = self._conn.cursor()
        try:
            getattr(cursor, method)(sql, parameters)
            rows = cursor.fetchall() if cursor.description else ()
            return Answer(cursor.description, cursor.rowcount, cursor.lastrowid, rows)
        finally:
            cursor.close()


class OneHopCursor:
    """As much of a cursor as SQLAlchemy's adapter uses."""

    def __init__(self, connection: OneHopConnection) -> None:
        self._connection = connection
        self._answer = Answer()

    async def __aenter__(self) -> "OneHopCursor":
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement."""
        self._answer = await self._connection.answer("execute", sql, parameters)

    async def executemany(self, sql: str, parameters: Sequence[Any]) -> None:
        """Run one statement with each of the parameters."""
        self._answer = await self._connection.answer("executemany", sql, parameters)

    async def fetchall(self) -> Sequence[Any]:
        """Every row."""
        return self._answer.rows

    async def close(self) -> None:
        """It is closed already."""

    @property
    def description(self) -> Any:
        """The columns, or None for a statement that gives none."""
        return self._answer.description

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        return self._answer.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The row it inserted."""
        return self._answer.lastrowid
