"""The `Database` port in memory, with the contract of the SQL databases."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.ports.database import UnitOfWork
from agent_core.testing.bookkeeping import MemoryAudit, MemoryDeliveries, MemoryInstallations, MemoryPreferences
from agent_core.testing.memories import MemoryBudgets, MemoryMemories
from agent_core.testing.repositories import MemoryAgents, MemoryNotes, MemoryTurns
from agent_core.testing.store import Store, StoreBuffer


class InMemoryUnitOfWork(UnitOfWork):
    """See `UnitOfWork` in the ports."""

    def __init__(self, buffer: StoreBuffer) -> None:
        self.agents = MemoryAgents(buffer)
        self.turns = MemoryTurns(buffer)
        self.notes = MemoryNotes(buffer)
        self.deliveries = MemoryDeliveries(buffer)
        self.audit = MemoryAudit(buffer)
        self.preferences = MemoryPreferences(buffer)
        self.memories = MemoryMemories(buffer)
        self.budgets = MemoryBudgets(buffer)
        self.installations = MemoryInstallations(buffer)
        self._buffer = buffer

    async def commit(self) -> None:
        self._buffer.commit()


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
