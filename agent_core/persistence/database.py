"""SQLAlchemy implementations of Database and UnitOfWork."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.persistence.agents import SqlAgents
from agent_core.persistence.bookkeeping import SqlAudit, SqlDeliveries, SqlPreferences
from agent_core.persistence.channel_budgets import SqlChannelBudgets
from agent_core.persistence.connections import connections_to
from agent_core.persistence.installations import SqlInstallations
from agent_core.persistence.memories import SqlMemories
from agent_core.persistence.notes import SqlNotes
from agent_core.persistence.turns import SqlTurns
from agent_core.persistence.write_buffer import WriteBuffer
from agent_core.ports.database import UnitOfWork


class SqlUnitOfWork(UnitOfWork):
    """See `UnitOfWork` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        self.agents = SqlAgents(buffer)
        self.turns = SqlTurns(buffer)
        self.notes = SqlNotes(buffer)
        self.deliveries = SqlDeliveries(buffer)
        self.audit = SqlAudit(buffer)
        self.preferences = SqlPreferences(buffer)
        self.memories = SqlMemories(buffer)
        self.budgets = SqlChannelBudgets(buffer)
        self.installations = SqlInstallations(buffer)
        self._buffer = buffer

    async def commit(self) -> None:
        await self._buffer.commit()


class SqlDatabase:
    """Implements `Database`. Run `schema.upgrade` first."""

    def __init__(self, url: str) -> None:
        self._connections = connections_to(url)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        buffer = WriteBuffer(self._connections)
        try:
            yield SqlUnitOfWork(buffer)
        finally:
            buffer.close()

    async def close(self) -> None:
        await self._connections.close()
