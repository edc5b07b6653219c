"""Repositories of the in-memory database: agents, turns, notes and notices."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from agent_core.errors import NotFound
from agent_core.model.agent import ARCHIVED, Agent, Headcount
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.copies import replace
from agent_core.model.ids import AgentId, NoticeId, TurnId, WorkerId
from agent_core.model.note import Note, Notice
from agent_core.model.timing import Timing
from agent_core.model.turn import Turn
from agent_core.persistence.unsaved_records import UnsavedRecords
from agent_core.ports.kept_records import Kept, KeptRecord, newest_turn
from agent_core.testing.store import Rows, Store, StoredRow, name_key
from agent_core.testing.store_buffer import StoreBuffer, StoreRepository

B = TypeVar("B", Turn, Note, Notice)
Message = TypeVar("Message", Note, Notice)
Versioned = TypeVar("Versioned", Agent, Turn)


class VersionedRepository(StoreRepository, Generic[Versioned]):
    """Base of repositories with optimistic locking. `kind` names a record in error messages."""

    kind: str

    def __init__(self, buffer: StoreBuffer) -> None:
        super().__init__(buffer)
        self._pending: UnsavedRecords[Versioned] = UnsavedRecords(self.kind, buffer.check_open)

    def add(self, record: Versioned) -> None:
        self._pending.add(record)
        self._queue(record, None)

    def save(self, record: Versioned) -> None:
        self._queue(record, self._pending.save(record))

    def _queue(self, record: Versioned, read: int | None) -> None:
        """Queue an insert of the record if `read` is None, else an update that expects the revision `read`."""
        self._buffer.queue(lambda store: self._write(store, record, read), key=(self.kind, record.id))

    def reuse(self, kept: Kept[Versioned]) -> None:
        self._pending.reuse(kept)

    def _write(self, store: Store, record: Versioned, read: int | None) -> None:
        raise NotImplementedError

    def _read(self, rows: Iterable[StoredRow[Versioned]]) -> tuple[Versioned, ...]:
        return tuple(self._pending.read(row.value, row.revision) for row in rows)


class MemoryAgents(VersionedRepository[Agent]):
    """See `Agents` in the ports."""

    kind = "agent"

    @property
    def _rows(self) -> Collection[StoredRow[Agent]]:
        """The saved agents, oldest first."""
        return sorted(self._buffer.committed.agents.values(), key=lambda row: row.value.id)

    async def get(self, channel: ChannelScope, agent_id: AgentId) -> Agent:
        agent = await self.locate(agent_id)
        if agent.channel != channel:
            raise self._pending.missing(agent_id)
        return agent

    async def locate(self, agent_id: AgentId) -> Agent:
        if agent := self._pending.find(agent_id):
            return agent
        if agent_id not in self._buffer.committed.agents:
            raise self._pending.missing(agent_id)
        return self._read([self._buffer.committed.agents[agent_id]])[0]

    def keep(self, agent_id: AgentId) -> Kept[Agent]:
        return self._pending.keep(agent_id)

    async def find_by_name(self, channel: ChannelScope, name: str) -> Agent | None:
        found = self._read(row for row in self._rows if name_key(row.value) == (channel, name.casefold()))
        return self._pending.latest(found[0]) if found else None

    async def of(self, channel: ChannelScope) -> tuple[Agent, ...]:
        return self._read(row for row in self._rows if row.value.channel == channel and not row.value.is_archived)

    async def list_archived(self, channel: ChannelScope, *, most: int) -> tuple[Agent, ...]:
        archived = [row for row in self._rows if row.value.channel == channel and row.value.is_archived]
        return self._read(sorted(archived, key=_archived_at, reverse=True)[:most])

    async def list_archived_at(self, channel: ChannelScope, moment: datetime) -> tuple[Agent, ...]:
        archived = (row for row in self._rows if row.value.channel == channel and row.value.is_archived)
        return self._read(row for row in archived if row.value.archived_at == moment)

    async def in_thread(self, thread: ThreadRef) -> Agent | None:
        found = self._read(row for row in self._rows if _is_in(row.value, thread) and not row.value.parent)
        return self._pending.latest(found[-1]) if found else None

    async def list_by_owner(self, surface: SurfaceName, workspace: str, person: str) -> tuple[Agent, ...]:
        owner = surface, workspace, person
        return self._read(
            row
            for row in self._rows
            if (row.value.channel.surface, row.value.channel.workspace, row.value.owner.id) == owner
            and not row.value.is_archived
        )

    async def list_with_thread(self, surface: SurfaceName, since: datetime) -> tuple[Agent, ...]:
        here = (row for row in self._rows if row.value.channel.surface == surface)
        rooted = (row for row in here if row.value.thread is not None and not row.value.parent)
        return self._read(row for row in rooted if not row.value.is_at_rest or row.value.since >= since)

    async def list_changed_last(self, surfaces: Sequence[SurfaceName], most: int) -> tuple[Agent, ...]:
        here = [row for row in self._rows if row.value.channel.surface in surfaces]
        threaded = [row for row in here if row.value.thread is not None and not row.value.is_archived]
        return self._read(sorted(threaded, key=lambda row: (row.value.since, row.value.id), reverse=True))[:most]

    async def list_at_rest(self, before: datetime, *, most: int, after: str = "") -> tuple[Agent, ...]:
        rows = (row for row in self._rows if row.value.is_at_rest and row.value.since < before)
        return self._read(row for row in rows if row.value.id > after)[:most]

    async def census(self) -> tuple[Headcount, ...]:
        agents = [row.value for row in self._rows]
        counts = Counter((each.channel.key, ARCHIVED if each.is_archived else each.status.kind) for each in agents)
        return tuple(Headcount(ChannelScope.parse(key), status, counts[key, status]) for key, status in sorted(counts))

    async def list_awaiting_people(self, channels: Sequence[ChannelScope], most: int) -> tuple[Agent, ...]:
        rows = (row for row in self._rows if row.value.channel in channels)
        waiting = [row for row in rows if row.value.needs_people]
        return self._read(sorted(waiting, key=lambda row: (row.value.since, row.value.id)))[:most]

    async def due(
        self, surfaces: Sequence[SurfaceName], now: datetime, worker_id: WorkerId | None = None
    ) -> tuple[AgentId, ...]:
        store = self._buffer.committed
        due = {row.value.id for row in store.agents.values() if _has_work(row.value, now)}
        due |= {row.value.agent_id for row in store.turns.values() if row.shown != row.value.stage}
        due |= {row.value.agent_id for row in store.notices.values() if not row.shown}
        due -= {agent_id for agent_id, (claimant, _) in store.claims.items() if claimant != worker_id}
        return tuple(sorted(each for each in due if store.agents[each].value.channel.surface in surfaces))

    def remove(self, agent: Agent) -> None:
        read = self._pending.remove(agent)
        self._buffer.queue(lambda store: store.remove(agent, read), key=(self.kind, agent.id))

    def _write(self, store: Store, record: Agent, read: int | None) -> None:
        store.put_agent(record, read)


class MemoryTurns(VersionedRepository[Turn]):
    """See `Turns` in the ports."""

    kind = "turn"

    def __init__(self, buffer: StoreBuffer) -> None:
        super().__init__(buffer)
        self._shown: dict[str, tuple[str, datetime | None, str]] = {}

    async def get(self, channel: ChannelScope, turn_id: TurnId) -> Turn:
        if turn := self._pending.find(turn_id, channel):
            return turn
        row = self._buffer.committed.turns.get(turn_id)
        if row is None or row.value.channel != channel:
            raise self._pending.missing(turn_id)
        return self._read([row])[0]

    async def of(self, agent: Agent, *, last: int, before: int | None = None) -> tuple[Turn, ...]:
        rows = _rows_of(self._buffer.committed.turns, agent)
        rows = sorted((row for row in rows if before is None or row.value.number < before), key=_number)
        return self._read(rows[max(0, len(rows) - last) :])

    async def list_timings(
        self, channel: ChannelScope, *, last: int, agent_id: AgentId | None = None
    ) -> tuple[Timing, ...]:
        turns = [row.value for row in self._buffer.committed.turns.values() if row.value.channel == channel]
        of_one = [turn for turn in turns if agent_id in (None, turn.agent_id)]
        ordered = sorted(of_one, key=lambda turn: turn.id if agent_id is None else turn.number)
        return tuple(Timing.of(turn) for turn in ordered[max(0, len(ordered) - last) :])

    async def list_unshown(self, agent: Agent) -> tuple[Turn, ...]:
        rows = _rows_of(self._buffer.committed.turns, agent)
        return self._read(sorted((row for row in rows if row.shown != row.value.stage), key=_number))

    def mark_shown(self, turn: Turn, address: str, at: datetime | None) -> None:
        self._shown[turn.id] = (address, at, turn.control_hash)
        self._buffer.queue(lambda store: store.mark_shown(turn, address, at))

    def keep(self, agent_id: AgentId) -> Kept[Turn]:
        newest = newest_turn(self._pending.known(), agent_id)
        kept = self._pending.keep(newest.id) if newest else {}
        return {turn_id: self._as_shown(turn_id, each) for turn_id, each in kept.items()}

    def _as_shown(self, turn_id: str, kept: KeptRecord[Turn]) -> KeptRecord[Turn]:
        if turn_id not in self._shown:
            return kept
        address, at, shown = self._shown[turn_id]
        turn = replace(kept.record, shown_as=address, shown_at=at, shown_hash_on_card=shown)
        return replace(kept, record=turn)

    def _write(self, store: Store, record: Turn, read: int | None) -> None:
        store.put_turn(record, read)


class MemoryNotes(StoreRepository):
    """See `Notes` in the ports."""

    async def of(self, agent: Agent, *, since: datetime | None = None) -> tuple[Note, ...]:
        return _values(_rows_of(self._buffer.committed.notes, agent), since)

    async def list_waiting(self, agent: Agent) -> tuple[Note, ...]:
        return tuple(note for note in await self.of(agent) if note.taken_into is None)

    async def notices(self, agent: Agent, *, since: datetime | None = None) -> tuple[Notice, ...]:
        return _values(_rows_of(self._buffer.committed.notices, agent), since)

    async def notice(self, channel: ChannelScope, notice_id: NoticeId) -> Notice:
        row = self._buffer.committed.notices.get(notice_id)
        if row is None or row.value.channel != channel:
            raise NotFound("notice", notice_id)
        return row.value

    async def list_unposted(self, agent: Agent) -> tuple[Notice, ...]:
        return _values([row for row in _rows_of(self._buffer.committed.notices, agent) if not row.shown])

    def add(self, note: Note) -> None:
        self._buffer.queue(lambda store: store.insert(store.notes, note))

    def take(self, notes: Sequence[Note], turn_id: TurnId) -> None:
        self._buffer.queue(lambda store: store.take(notes, turn_id))

    def announce(self, notice: Notice) -> None:
        self._buffer.queue(lambda store: store.insert(store.notices, notice))

    def mark_posted(self, notice: Notice) -> None:
        self._buffer.queue(lambda store: store.mark_posted(notice))


def _archived_at(row: StoredRow[Agent]) -> datetime:
    return row.value.archived_at or row.value.since


def _has_work(agent: Agent, now: datetime) -> bool:
    if agent.status.kind in ("thinking", "acting"):
        return agent.wake_at is None or agent.wake_at <= now
    return agent.thread is not None and agent.wake_at is not None and agent.wake_at <= now


def _is_in(agent: Agent, thread: ThreadRef) -> bool:
    return agent.channel == thread.channel and agent.thread is not None and agent.thread.thread == thread.thread


def _number(row: StoredRow[Turn]) -> int:
    return row.value.number


def _rows_of(rows: Rows[B], agent: Agent) -> list[StoredRow[B]]:
    return [row for row in rows.values() if (row.value.agent_id, row.value.channel) == (agent.id, agent.channel)]


def _values(rows: Iterable[StoredRow[Message]], since: datetime | None = None) -> tuple[Message, ...]:
    values = (row.value for row in rows if since is None or row.value.at >= since)
    return tuple(sorted(values, key=lambda each: (each.at, each.id)))
