"""The ports of the database and the unit of work, and functions that run one and start it over after a conflict."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol, TypeVar

from agent_core.errors import Conflict
from agent_core.ports.repositories import (
    Agents,
    Audit,
    Budgets,
    Deletions,
    Deliveries,
    FormDrafts,
    Installations,
    Jobs,
    Memories,
    Notes,
    Preferences,
    Reservations,
    TextSearch,
    Turns,
)

T = TypeVar("T")


class UnitOfWork(Protocol):
    """A transaction with optimistic concurrency control. `commit` saves all writes, or none.

    After a save in this unit, reading that one agent or turn returns the saved value; lists return committed values
    only. Leaving the context of `Database.begin` without `commit` discards the writes.
    """

    agents: Agents
    turns: Turns
    notes: Notes
    deliveries: Deliveries
    audit: Audit
    preferences: Preferences
    memories: Memories
    budgets: Budgets
    reservations: Reservations
    installations: Installations
    jobs: Jobs
    deletions: Deletions
    form_drafts: FormDrafts
    text_search: TextSearch

    def after_commit(self, act: Callable[[], object]) -> None:
        """Call `act` once the commit has taken effect, or may have done so: its answer was lost."""

    async def commit(self) -> None:
        """Save all writes; raise Conflict if another unit of work has changed a record that this one read and saved."""


class Database(Protocol):
    """The persistent store, the only source of truth.

    Reads and commits raise DatabaseAway while the database cannot be reached.
    """

    def begin(self) -> AbstractAsyncContextManager[UnitOfWork]:
        """Open a unit of work for a with-block. It holds no lock before `commit`."""


MAX_ATTEMPTS = 20


async def in_one_unit(database: Database, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
    """Run `act` in a unit of work and commit. On Conflict start over, with up to 20 attempts; then raise Conflict."""
    for _ in range(MAX_ATTEMPTS - 1):
        with suppress(Conflict):
            return await _attempt(database, act)
    return await _attempt(database, act)


async def queue_in_one_unit(database: Database, queue: Callable[[UnitOfWork], None]) -> None:
    """Run `queue`, which adds writes but reads nothing, and commit, with the retries of `in_one_unit`."""

    async def act(work: UnitOfWork) -> None:
        queue(work)

    await in_one_unit(database, act)


async def finish_uncancelled(step: Awaitable[T]) -> T:
    """Await a step to its end, also if the caller is cancelled meanwhile; then an error of the step is dropped."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):  # however often it is cancelled
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # else asyncio logs that nothing retrieved it
        raise


async def _attempt(database: Database, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
    async with database.begin() as work:
        value = await act(work)
        await work.commit()
        return value
