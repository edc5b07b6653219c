"""Implements `Database` and `UnitOfWork`: joins the SQL repositories, one write buffer and the connections."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

from sqlalchemy import make_url

from agent_core.errors import CommitUnknown
from agent_core.persistence.agents import SqlAgents
from agent_core.persistence.bookkeeping import (
    SqlDeletions,
    SqlDeliveries,
    SqlFormDrafts,
    SqlInstallations,
    SqlPreferences,
)
from agent_core.persistence.budgets import SqlChannelBudgets, SqlReservations
from agent_core.persistence.connections import Connections, FileConnections, OutageLog, ServerConnections
from agent_core.persistence.decision_log.repository import SqlAudit
from agent_core.persistence.memories import SqlMemories
from agent_core.persistence.text_search import SqlTextSearch
from agent_core.persistence.turns import SqlNotes, SqlTurns
from agent_core.persistence.write_buffer import SqlJobs, WriteBuffer
from agent_core.ports.database import UnitOfWork


class SqlUnitOfWork(UnitOfWork):
    """See `UnitOfWork` in the ports. It ends with its with-block.

    Each repository is made when it is first asked for: most units of work need two or three of them.
    """

    agents: SqlAgents
    turns: SqlTurns
    notes: SqlNotes
    deliveries: SqlDeliveries
    audit: SqlAudit
    preferences: SqlPreferences
    memories: SqlMemories
    budgets: SqlChannelBudgets
    reservations: SqlReservations
    installations: SqlInstallations
    jobs: SqlJobs
    deletions: SqlDeletions
    form_drafts: SqlFormDrafts
    text_search: SqlTextSearch

    def __init__(self, buffer: WriteBuffer) -> None:
        self._buffer = buffer
        self._after: list[Callable[[], object]] = []

    def __getattr__(self, name: str) -> Any:
        kind = SqlUnitOfWork.__annotations__.get(name)
        if kind is None:
            raise AttributeError(name)
        repository = kind(self._buffer)
        setattr(self, name, repository)
        return repository

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._buffer.close()

    def after_commit(self, act: Callable[[], object]) -> None:
        self._after.append(act)

    async def commit(self) -> None:
        try:
            await self._buffer.commit()
        except (CommitUnknown, asyncio.CancelledError):
            self._tell()
            raise
        self._tell()

    def _tell(self) -> None:
        for act in self._after:
            act()


class SqlDatabase:
    """Implements `Database`. Run `schema.upgrade` first."""

    def __init__(self, url: str) -> None:
        self._connections = _connections_to(url)

    def begin(self) -> AbstractAsyncContextManager[SqlUnitOfWork]:
        return SqlUnitOfWork(WriteBuffer(self._connections))

    @property
    def outages(self) -> OutageLog:
        return self._connections.outages

    async def close(self) -> None:
        await self._connections.close()


def _connections_to(url: str) -> Connections:
    return FileConnections(url) if make_url(url).get_backend_name() == "sqlite" else ServerConnections(url)
