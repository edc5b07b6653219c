"""Repositories of the in-memory database: deliveries, decision log, preferences and installations."""

from datetime import datetime

from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope, SurfaceName
from agent_core.model.ids import AgentId
from agent_core.model.installation import Installation
from agent_core.testing.store import StoreBuffer, StoreRepository


class MemoryDeliveries(StoreRepository):
    """See `Deliveries` in the ports."""

    def __init__(self, buffer: StoreBuffer) -> None:
        super().__init__(buffer)
        self._claimed: set[str] = set()

    async def first_time(self, delivery: str, at: datetime) -> bool:
        if delivery in self._claimed or delivery in self._buffer.committed.deliveries:
            return False
        self._claimed.add(delivery)
        self._buffer.queue(lambda store: store.claim(delivery, at))
        return True

    def forget(self, before: datetime) -> None:
        self._buffer.queue(lambda store: store.forget(before))


class MemoryAudit(StoreRepository):
    """See `Audit` in the ports."""

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        return tuple(entry for entry in await self.in_channel(agent.channel) if entry.agent_id == agent.id)

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        found = (row.value for row in self._buffer.committed.audit.values() if row.value.channel == channel)
        return tuple(sorted(found, key=lambda entry: (entry.at, entry.id)))

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        entries = await self.in_channel(channel)
        ids = [entry.id for entry in entries]
        upto = ids.index(before) if before in ids else 0 if before else len(ids)
        found = [entry for entry in entries[:upto] if agent_id in (None, entry.agent_id)]
        return tuple(reversed(found))[:last]

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        place = entry.at, entry.id
        entries = await self.in_channel(entry.channel)
        found = [each for each in entries if each.agent_id == entry.agent_id and (each.at, each.id) > place]
        return tuple(found[:first])

    def append(self, entry: AuditEntry) -> None:
        self._buffer.queue(lambda store: store.insert(store.audit, entry))


class MemoryPreferences(StoreRepository):
    """See `Preferences` in the ports."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        return self._buffer.committed.preferences.get((channel.key, key))

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(lambda store: store.preferences.update({(channel.key, key): text}))


class MemoryInstallations(StoreRepository):
    """See `Installations` in the ports."""

    async def get(self, surface: SurfaceName, workspace: str) -> Installation | None:
        return self._buffer.committed.installations.get((surface, workspace))

    async def of(self, surface: SurfaceName) -> tuple[Installation, ...]:
        installations = self._buffer.committed.installations
        return tuple(installations[place] for place in sorted(installations) if place[0] == surface)

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        key = ("installation", installation.surface, installation.workspace)
        self._buffer.queue(lambda store: store.put_installation(installation, replacing), key=key)

    def remove(self, surface: SurfaceName, workspace: str) -> None:
        place = (surface, workspace)
        self._buffer.queue(lambda store: store.installations.pop(place, None), key=("installation", *place))
