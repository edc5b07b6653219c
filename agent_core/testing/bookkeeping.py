"""Repositories of the in-memory database: deliveries, decision log, preferences, installations and deletions."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from agent_core.errors import Conflict
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.deletion import Deletion
from agent_core.model.form_draft import FormDraft
from agent_core.model.ids import AgentId
from agent_core.model.installation import Installation, InstalledOn
from agent_core.testing.store import RECORD_EXISTS, Store
from agent_core.testing.store_buffer import StoreBuffer, StoreRepository


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

    async def list_expired(self, before: datetime, *, most: int) -> tuple[str, ...]:
        found = sorted(row.value.id for row in self._buffer.committed.audit.values() if row.value.at < before)
        return tuple(found[:most])

    def append(self, entry: AuditEntry) -> None:
        self._buffer.queue(lambda store: store.insert(store.audit, entry))

    def expire(self, ids: Sequence[str]) -> None:
        self._buffer.queue(lambda store: [store.audit.pop(each, None) for each in ids])


class MemoryPreferences(StoreRepository):
    """See `Preferences` in the ports."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        return self._buffer.committed.preferences.get((channel.key, key))

    async def list_by_prefix(self, channel: ChannelScope, prefix: str) -> Mapping[str, str]:
        stored = self._buffer.committed.preferences.items()
        return {key: text for (place, key), text in stored if place == channel.key and key.startswith(prefix)}

    def add(self, channel: ChannelScope, key: str, text: str) -> None:
        def insert(store: Store) -> None:
            if store.preferences.setdefault((channel.key, key), text) != text:
                raise Conflict(RECORD_EXISTS)

        self._buffer.queue(insert)

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(lambda store: store.preferences.update({(channel.key, key): text}))


class MemoryInstallations(StoreRepository):
    """See `Installations` in the ports."""

    async def get(self, surface: InstalledOn, workspace: str) -> Installation | None:
        return self._buffer.committed.installations.get((surface, workspace))

    async def of(self, surface: InstalledOn) -> tuple[Installation, ...]:
        installations = self._buffer.committed.installations
        return tuple(installations[place] for place in sorted(installations) if place[0] == surface)

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        key = ("installation", installation.surface, installation.workspace)
        self._buffer.queue(lambda store: store.put_installation(installation, replacing), key=key)

    def remove(self, surface: InstalledOn, workspace: str) -> None:
        place = (surface, workspace)
        self._buffer.queue(lambda store: store.installations.pop(place, None), key=("installation", *place))


class MemoryDeletions(StoreRepository):
    """See `Deletions` in the ports."""

    async def page(self, *, most: int, after: str = "") -> tuple[Deletion, ...]:
        found = sorted(self._buffer.committed.deletions.items())
        return tuple([deletion for agent_id, deletion in found if agent_id > after][:most])

    def add(self, deletion: Deletion) -> None:
        self._buffer.queue(lambda store: store.deletions.update({deletion.agent_id: deletion}))

    def finish(self, deletions: Sequence[Deletion]) -> None:
        self._buffer.queue(lambda store: [store.deletions.pop(each.agent_id, None) for each in deletions])

    async def empty_journal(self) -> bool:
        return True


class MemoryFormDrafts(StoreRepository):
    """See `FormDrafts` in the ports."""

    async def get(self, channel: ChannelScope, person: str, key: str, now: datetime) -> FormDraft | None:
        form = self._buffer.committed.form_drafts.get((channel, person, key))
        return form if form and form.expires_at > now else None

    def put(self, form: FormDraft) -> None:
        form.require_size()
        self._buffer.queue(lambda store: store.put_form(form))

    async def expire(self, now: datetime) -> bool:
        self._buffer.queue(lambda store: store.expire_forms(now))
        return any(form.expires_at <= now for form in self._buffer.committed.form_drafts.values())
