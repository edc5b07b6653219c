"""Units of work: reads see what is committed, and nothing is saved before the commit."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol, TypeVar

from agent_core.errors import Conflict
from agent_core.ports.bookkeeping import Audit, Deliveries, Preferences
from agent_core.ports.repositories import (
    Agents,
    Budgets,
    Installations,
    Memories,
    Notes,
    Turns,
)


class UnitOfWork(Protocol):
    """Reads see what is committed, and records saved here. Nothing is saved before `commit`; then all or nothing.

    Leaving without a commit leaves no trace. Lists show what was committed before, without what is saved here.
    """

    @property
    def agents(self) -> Agents:
        """The agents."""
        ...

    @property
    def turns(self) -> Turns:
        """Their turns."""
        ...

    @property
    def notes(self) -> Notes:
        """What is said besides turns."""
        ...

    @property
    def deliveries(self) -> Deliveries:
        """Platform events that have taken effect."""
        ...

    @property
    def audit(self) -> Audit:
        """What people did."""
        ...

    @property
    def preferences(self) -> Preferences:
        """Small texts by channel and key."""
        ...

    @property
    def memories(self) -> Memories:
        """What agents can recall later."""
        ...

    @property
    def budgets(self) -> Budgets:
        """What channels may spend."""
        ...

    @property
    def installations(self) -> Installations:
        """Workspaces that let Signoff in."""
        ...

    async def commit(self) -> None:
        """Save everything; raise Conflict when a record read here and saved here was since saved elsewhere."""
        ...


class Database(Protocol):
    """Where everything is kept. It holds the truth; cards and engines follow it.

    Reads and commits raise DatabaseAway while it cannot be reached.
    """

    def begin(self) -> AbstractAsyncContextManager[UnitOfWork]:
        """Open a unit of work. It holds no lock until it commits."""
        ...


T = TypeVar("T")
ATTEMPTS = 20


async def in_one_unit(database: Database, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
    """Run `act` in a unit of work and commit; repeat it from the start when somebody else was faster."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Conflict):
            return await _attempt(database, act)
    return await _attempt(database, act)


async def _attempt(database: Database, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
    async with database.begin() as work:
        value = await act(work)
        await work.commit()
        return value
