"""Connections to a PostgreSQL server, by asyncpg."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from asyncpg import ConnectionDoesNotExistError, InvalidTextRepresentationError  # type: ignore[import-untyped]
from sqlalchemy import Executable, Row

from agent_core.errors import Conflict
from agent_core.persistence.connections import STATEMENT_SECONDS
from agent_core.persistence.joined_writes import Step, join_writes, split_into_steps
from agent_core.persistence.outages import OutageLog
from agent_core.persistence.prepared_statements import Values
from agent_core.persistence.server_pool import ServerPool
from agent_core.persistence.server_statements import (
    Session,
    change_rows,
    find_rows,
    find_rows_within,
    lost_answer_is_unknown,
    transaction,
)
from agent_core.persistence.writes import SAVED_ELSEWHERE, DecidedWrite, Writes
from agent_core.ports.database import Together, at_the_same_time, finish_uncancelled


class ServerConnections:
    """PostgreSQL: reads take one round trip, and so do commits, unless a write depends on another.

    A read whose session the server has closed, which a restart does with all of them, is tried once more. A commit is
    not, as it may have taken effect: it gets a session that answered just now. A cancelled caller ends its read, and
    waits for its commit.
    """

    def __init__(self, url: str) -> None:
        self.outages = OutageLog()
        self.together: Together = at_the_same_time
        self._pool = ServerPool(url, STATEMENT_SECONDS)

    async def rows(self, query: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        find = partial(find_rows if seconds is None else partial(find_rows_within, seconds), query=query, values=values)
        try:
            return await self._pool.run(find)
        except ConnectionDoesNotExistError:
            return await self._pool.run(find)

    async def write(self, writes: Writes) -> None:
        save = partial(_save, split_into_steps(writes.queued))
        await finish_uncancelled(self._pool.run(save, must_answer=True))

    async def empty_journal(self) -> bool:
        """Do nothing: what the server's own files keep, and how long, is up to the server."""
        return True

    async def close(self) -> None:
        await self._pool.close()


async def _save(steps: Sequence[Step], session: Session) -> None:
    if len(steps) == 1 and not isinstance(steps[0], DecidedWrite):
        with lost_answer_is_unknown():
            await _run(session, steps[0])
        return
    async with transaction(session):
        for step in steps:
            await _run(session, step)


async def _run(session: Session, step: Step) -> None:
    """Run a step of a commit; raise Conflict."""
    if isinstance(step, DecidedWrite):
        await find_rows(session, step.lock, step.values)
        step = [step.decide(await find_rows(session, step.query, step.values))]
    if len(step) == 1:
        step[0].require_change(await change_rows(session, step[0].statement, step[0].values))
        return
    sql, arguments = join_writes(step)
    try:
        await session.execute(sql, *arguments)
    except InvalidTextRepresentationError as error:
        if SAVED_ELSEWHERE not in str(error):
            raise
        raise Conflict(SAVED_ELSEWHERE) from error
