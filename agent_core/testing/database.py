"""The `Database` port in memory, with the contract of the SQL databases."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

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
from agent_core.testing.store import Store, StoreBuffer, StoreRepository
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


class InMemoryDatabase:
    """See `Database` in the ports. Nothing is persisted."""

    def __init__(self) -> None:
        self._store = Store()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[InMemoryUnitOfWork]:
        buffer = StoreBuffer(self._store)
        try:
            yield InMemoryUnitOfWork(buffer)
        finally:
            buffer.close()

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
