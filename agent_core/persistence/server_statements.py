"""Statements on a session of PostgreSQL: prepared once, and run by asyncpg itself.

SQLAlchemy compiles them and its types convert the values, but its asyncio layer takes four times as long as asyncpg.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any, TypeAlias

from asyncpg import InternalClientError, PostgresError, QueryCanceledError  # type: ignore[import-untyped]
from sqlalchemy import Dialect, Executable, Row, make_url

from agent_core.errors import CommitUnknown
from agent_core.persistence.outages import is_outage
from agent_core.persistence.prepared_statements import ReadRow, Values, compile_statement, prepare, row_reader
from agent_core.persistence.timed_reads import TooLong

Session: TypeAlias = Any  # an asyncpg.Connection, which has no types
BoundStatement: TypeAlias = tuple[str, Sequence[object], ReadRow]


async def find_rows(session: Session, query: Executable, values: Values) -> Sequence[Row[Any]]:
    """All rows that the query finds."""
    sql, arguments, read = bind_statement(query, values)
    return [read(found) for found in await session.fetch(sql, *arguments)]


async def find_rows_within(seconds: float, session: Session, query: Executable, values: Values) -> Sequence[Row[Any]]:
    """All rows that the query finds; raise TooLong when it takes longer than that many seconds."""
    await session.execute(f"BEGIN READ ONLY; SET LOCAL statement_timeout = {round(1000 * seconds)}")
    try:
        rows = await find_rows(session, query, values)
    except QueryCanceledError as error:
        await session.execute("ROLLBACK")
        raise TooLong from error
    await session.execute("COMMIT")
    return rows


async def change_rows(session: Session, statement: Executable, values: Values | Sequence[Values]) -> int:
    """Run a statement that writes, for each mapping of values; return how many rows a single mapping changed."""
    if isinstance(values, Mapping):
        sql, arguments, _ = bind_statement(statement, values)
        return changed_rows(await session.execute(sql, *arguments))
    bound = [bind_statement(statement, row) for row in values]
    await session.executemany(bound[0][0], [arguments for _, arguments, _ in bound])
    return len(bound)


def changed_rows(status: str) -> int:
    """How many rows a statement changed, by the last word of its status, as "INSERT 0 1"."""
    return int(status.rpartition(" ")[2])


@asynccontextmanager
async def transaction(session: Session) -> AsyncIterator[None]:
    """A transaction that commits at the end, and rolls back after an error."""
    await session.execute("BEGIN")
    try:
        yield
    except Exception as error:
        if not is_outage(error):  # after an outage the pool closes the session, which rolls back too
            await session.execute("ROLLBACK")
        raise
    with lost_answer_is_unknown():
        await session.execute("COMMIT")


@contextmanager
def lost_answer_is_unknown() -> Iterator[None]:
    """Raise CommitUnknown if a server that was to commit went away before its answer arrived.

    What it answers with an error is not saved. Only an error that also ends the session may come after the commit.
    """
    try:
        yield
    except Exception as error:
        is_answer = isinstance(error, PostgresError) and error.severity_en == "ERROR"
        if is_answer or not (is_outage(error) or isinstance(error, InternalClientError)):
            raise
        raise CommitUnknown("The database went away during a commit.") from error


def bind_statement(statement: Executable, values: Values) -> BoundStatement:
    """The SQL with its arguments, and what reads its rows."""
    names, dialect = tuple(values), _postgres()
    if prepared := prepare(statement, names, dialect):
        return prepared.sql, prepared.bind(values), prepared.read
    state = compile_statement(statement, names, dialect).construct_expanded_state(values)
    arguments = [
        state.processors[name](value) if name in state.processors else value
        for name, value in zip(state.positiontup, state.positional_parameters, strict=True)
    ]
    return state.statement, arguments, row_reader(statement, dialect)


@cache
def _postgres() -> Dialect:
    """The same for all databases of a process, so that each statement is compiled once."""
    return make_url("postgresql+asyncpg://").get_dialect()()
