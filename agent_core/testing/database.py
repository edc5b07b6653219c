"""The `Database` port in memory, with the contract of the SQL databases."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from agent_core.ports.database import UnitOfWork, at_the_same_time
from agent_core.testing.bookkeeping import (
    MemoryAudit,
    MemoryDeletions,
    MemoryDeliveries,
    MemoryFormDrafts,
    MemoryInstallations,
    MemoryPreferences,
)
from agent_core.testing.memories import MemoryBudgets, MemoryMemories, MemoryReservations
from agent_core.testing.repositories import MemoryAgents, MemoryNotes, MemoryTurns
from agent_core.testing.store import Store
from agent_core.testing.store_buffer import StoreBuffer, StoreRepository
from agent_core.testing.text_search import MemoryTextSearch
from agent_core.testing.workers import MemoryWorkers


class InMemoryUnitOfWork(UnitOfWork):
    """See `UnitOfWork` in the ports. Each repository is made when it is first used: most units use two or three."""

    agents: MemoryAgents
    turns: MemoryTurns
    notes: MemoryNotes
    deliveries: MemoryDeliveries
    audit: MemoryAudit
    preferences: MemoryPreferences
    memories: MemoryMemories
    budgets: MemoryBudgets
    reservations: MemoryReservations
    installations: MemoryInstallations
    workers: MemoryWorkers
    deletions: MemoryDeletions
    form_drafts: MemoryFormDrafts
    text_search: MemoryTextSearch

    def __init__(self, buffer: StoreBuffer) -> None:
        self._buffer = buffer
        self.together = at_the_same_time

    def __getattr__(self, name: str) -> Any:
        if name not in REPOSITORIES:
            raise AttributeError(name)
        repository = REPOSITORIES[name](self._buffer)
        setattr(self, name, repository)
        return repository

    async def commit(self) -> None:
        self._buffer.commit()


REPOSITORIES: dict[str, type[StoreRepository]] = InMemoryUnitOfWork.__annotations__


Unit = TypeVar("Unit")


class OpenUnit(Generic[Unit]):
    """A context in which a unit of work can be used; `make` makes it on the buffer."""

    def __init__(self, buffer: StoreBuffer, make: Callable[[StoreBuffer], Unit]) -> None:
        self._buffer, self._make = buffer, make

    async def __aenter__(self) -> Unit:
        return self._make(self._buffer)

    async def __aexit__(self, *_ended: object) -> None:
        self._buffer.close()


class InMemoryDatabase:
    """See `Database` in the ports. Nothing is persisted."""

    def __init__(self) -> None:
        self._store = Store()

    def begin(self) -> AbstractAsyncContextManager[InMemoryUnitOfWork]:
        return OpenUnit(StoreBuffer(self._store), InMemoryUnitOfWork)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
