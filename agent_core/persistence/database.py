"""SQLAlchemy implementations of Database and UnitOfWork."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import make_url

from agent_core.persistence.agents import SqlAgents
from agent_core.persistence.bookkeeping import SqlAudit, SqlDeliveries, SqlPreferences
from agent_core.persistence.channel_budgets import SqlChannelBudgets
from agent_core.persistence.connections import Connections
from agent_core.persistence.deletions import SqlDeletions
from agent_core.persistence.file_connections import FileConnections
from agent_core.persistence.form_drafts import SqlFormDrafts
from agent_core.persistence.installations import SqlInstallations
from agent_core.persistence.memories import SqlMemories
from agent_core.persistence.notes import SqlNotes
from agent_core.persistence.outages import OutageLog
from agent_core.persistence.reservations import SqlReservations
from agent_core.persistence.server_connections import ServerConnections
from agent_core.persistence.text_search import SqlTextSearch
from agent_core.persistence.turns import SqlTurns
from agent_core.persistence.workers import SqlWorkers
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
        self.reservations = SqlReservations(buffer)
        self.installations = SqlInstallations(buffer)
        self.workers = SqlWorkers(buffer)
        self.deletions = SqlDeletions(buffer)
        self.form_drafts = SqlFormDrafts(buffer)
        self.text_search = SqlTextSearch(buffer)
        self.together = buffer.together
        self._buffer = buffer

    async def commit(self) -> None:
        await self._buffer.commit()


class SqlDatabase:
    """Implements `Database`. Run `schema.upgrade` first."""

    def __init__(self, url: str) -> None:
        self._connections = _connections_to(url)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        buffer = WriteBuffer(self._connections)
        try:
            yield SqlUnitOfWork(buffer)
        finally:
            buffer.close()

    @property
    def outages(self) -> OutageLog:
        return self._connections.outages

    async def close(self) -> None:
        await self._connections.close()


def _connections_to(url: str) -> Connections:
    return FileConnections(url) if make_url(url).get_backend_name() == "sqlite" else ServerConnections(url)
