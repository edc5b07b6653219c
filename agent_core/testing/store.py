"""The data of the in-memory database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Generic, TypeAlias, TypeVar

from agent_core.errors import Conflict, OverBudget
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.copies import replace
from agent_core.model.deletion import Deletion
from agent_core.model.form_draft import MAX_FORMS, MAX_FORMS_OF_PERSON, FormDraft
from agent_core.model.ids import AgentId, MemoryId, ReservationId, TurnId, WorkerId
from agent_core.model.installation import Installation
from agent_core.model.memory import Memory, MemoryVersion, Vector
from agent_core.model.note import Note, Notice
from agent_core.model.reservation import Account, Funds, Reservation
from agent_core.model.turn import Turn
from agent_core.model.usage import FREE, Budget
from agent_core.model.worker import Worker

T = TypeVar("T")
Record = TypeVar("Record", Note, Notice, AuditEntry)

RECORD_EXISTS = "A record with this key exists."
RECORD_CHANGED = "A record was saved elsewhere since it was read."


@dataclass(frozen=True, slots=True)
class StoredRow(Generic[T]):
    """A record and its revision for optimistic locking. `shown`: the stage shown last; "told" for a posted notice."""

    value: T
    revision: int = 1
    shown: str = ""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with its agent and, if it has one, its vector and the vector's index key."""

    memory: Memory
    agent_id: AgentId
    channel: ChannelScope
    index_key: str = ""
    vector: Vector | None = None


Rows: TypeAlias = dict[str, StoredRow[T]]


@dataclass(slots=True)
class Store:
    """All committed data of one in-memory database."""

    agents: Rows[Agent] = field(default_factory=dict)
    turns: Rows[Turn] = field(default_factory=dict)
    notes: Rows[Note] = field(default_factory=dict)
    notices: Rows[Notice] = field(default_factory=dict)
    audit: Rows[AuditEntry] = field(default_factory=dict)
    deliveries: dict[str, datetime] = field(default_factory=dict)
    preferences: dict[tuple[str, str], str] = field(default_factory=dict)
    installations: dict[tuple[str, str], Installation] = field(default_factory=dict)
    memories: dict[str, StoredMemory] = field(default_factory=dict)
    memory_changes: dict[tuple[AgentId, ChannelScope], MemoryVersion] = field(default_factory=dict)
    budgets: dict[ChannelScope, Budget] = field(default_factory=dict)
    workers: dict[WorkerId, Worker] = field(default_factory=dict)
    claims: dict[AgentId, tuple[WorkerId, int]] = field(default_factory=dict)
    reservations: dict[ReservationId, Reservation] = field(default_factory=dict)
    deletions: dict[str, Deletion] = field(default_factory=dict)
    form_drafts: dict[tuple[ChannelScope, str, str], FormDraft] = field(default_factory=dict)

    def change(self, changes: tuple["Change", ...]) -> None:
        """Apply all changes, or none if one of them raises Conflict."""
        before = [*map(dict.copy, read_tables(self))]
        try:
            for change in changes:
                change(self)
        except BaseException:
            for table, rows in zip(TABLES, before, strict=True):
                setattr(self, table, rows)
            raise

    def put_agent(self, agent: Agent, read: int | None) -> None:
        self._require_free_name(agent)
        self.agents[agent.id] = _next_row(self.agents, agent.id, agent, read)

    def remove(self, agent: Agent, read: int | None = None) -> None:
        row = self.agents.get(agent.id)
        if read is not None and (row is None or row.revision != read):
            raise Conflict(RECORD_CHANGED)
        if row is None or row.value.channel != agent.channel:
            return
        del self.agents[agent.id]
        self.turns = {key: row for key, row in self.turns.items() if row.value.agent_id != agent.id}
        self.notes = {key: row for key, row in self.notes.items() if row.value.agent_id != agent.id}
        self.notices = {key: row for key, row in self.notices.items() if row.value.agent_id != agent.id}
        self.memories = {key: row for key, row in self.memories.items() if row.agent_id != agent.id}
        self.memory_changes.pop((agent.id, agent.channel), None)
        self.claims.pop(agent.id, None)
        self.form_drafts = {key: form for key, form in self.form_drafts.items() if form.agent_id != agent.id}

    def put_turn(self, turn: Turn, read: int | None) -> None:
        self._require_agent(turn.agent_id)
        others = (row.value for row in self.turns.values())
        if read is None and any((each.agent_id, each.number) == (turn.agent_id, turn.number) for each in others):
            raise Conflict(RECORD_EXISTS)
        if there := self.turns.get(turn.id):
            shown_as, shown_at, shown_hash = there.value.shown_as, there.value.shown_at, there.value.shown_hash_on_card
            turn = replace(turn, shown_as=shown_as, shown_at=shown_at, shown_hash_on_card=shown_hash)
        self.turns[turn.id] = _next_row(self.turns, turn.id, turn, read)

    def mark_shown(self, turn: Turn, address: str, at: datetime | None) -> None:
        if row := self.turns.get(turn.id):
            value = replace(row.value, shown_as=address, shown_at=at, shown_hash_on_card=turn.control_hash)
            self.turns[turn.id] = replace(row, value=value, shown=turn.stage)

    def insert(self, rows: Rows[Record], record: Record) -> None:
        if not isinstance(record, AuditEntry):
            self._require_agent(record.agent_id)
        rows[record.id] = _next_row(rows, record.id, record, None)

    def take(self, notes: Sequence[Note], turn_id: TurnId) -> None:
        for row in [self.notes[note.id] for note in notes if note.id in self.notes]:
            self.notes[row.value.id] = replace(row, value=replace(row.value, taken_into=turn_id))

    def mark_posted(self, notice: Notice) -> None:
        if row := self.notices.get(notice.id):
            self.notices[notice.id] = replace(row, shown="told")

    def claim(self, delivery: str, at: datetime) -> None:
        if delivery in self.deliveries:
            raise Conflict(RECORD_EXISTS)
        self.deliveries[delivery] = at

    def forget(self, before: datetime) -> None:
        self.deliveries = {delivery: at for delivery, at in self.deliveries.items() if at >= before}

    def put_installation(self, installation: Installation, replacing: str | None) -> None:
        """Add or replace an installation. With `replacing`, raise Conflict unless the old one's `sealed` equals it."""
        there = self.installations.get(place := (installation.surface, installation.workspace))
        if replacing is not None and (there is None or there.sealed != replacing):
            raise Conflict(RECORD_CHANGED)
        self.installations[place] = installation

    def put_form(self, form: FormDraft) -> None:
        if form.agent_id:
            self._require_agent(form.agent_id)
        self.form_drafts[form.channel, form.person, form.key] = form
        newest = sorted(self.form_drafts.items(), key=lambda pair: pair[1].expires_at, reverse=True)
        old = [key for key, _ in newest if key[1] == form.person][MAX_FORMS_OF_PERSON:]
        self.form_drafts = dict(pair for pair in newest[:MAX_FORMS] if pair[0] not in old)

    def expire_forms(self, now: datetime) -> None:
        self.form_drafts = {key: form for key, form in self.form_drafts.items() if form.expires_at > now}

    def insert_memories(self, memories: Sequence[StoredMemory]) -> None:
        for each in memories:
            self._require_agent(each.agent_id)
            if each.memory.id in self.memories or self.agents[each.agent_id].value.channel != each.channel:
                raise Conflict(RECORD_EXISTS)
            self.memories[each.memory.id] = each

    def memories_of(self, agent: Agent) -> list[StoredMemory]:
        whose = (agent.id, agent.channel)
        return [each for each in self.memories.values() if (each.agent_id, each.channel) == whose]

    def replace_memory(self, old: StoredMemory, new: StoredMemory | None) -> None:
        whose = (old.agent_id, old.channel)
        counts = self.memory_changes.get(whose, MemoryVersion())
        self.memory_changes[whose] = MemoryVersion(counts.added + bool(new), counts.removed + bool(old.index_key))
        if new:
            self.memories[old.memory.id] = new
        else:
            del self.memories[old.memory.id]

    def remove_memories(self, agent: Agent, ids: Sequence[MemoryId] | None) -> None:
        """Remove these memories of the agent, or all if `ids` is None."""
        for each in self.memories_of(agent):
            if ids is None or each.memory.id in ids:
                self.replace_memory(each, None)

    def change_budget(self, channel: ChannelScope, change: Callable[[Budget], Budget]) -> None:
        self.budgets[channel] = change(self.budgets.get(channel, Budget()))

    def funds(self, account: Account, without: ReservationId | None) -> Funds:
        channel, root = account.channel, account.root
        others = [each for each in self.reservations.values() if each.account.channel == channel and each.id != without]
        row = self.agents.get(root) if root else None
        own = row.value.budget if row and row.value.channel == channel else Budget(limit=FREE)
        return Funds(
            agent=own if root else Budget(),
            channel=self.budgets.get(channel, Budget()),
            reserved_of_agent=sum((each.amount for each in others if root and each.account.root == root), FREE),
            reserved_of_channel=sum((each.amount for each in others), FREE),
        )

    def take_reservation(self, reservation: Reservation, estimate: Decimal) -> None:
        funds = self.funds(reservation.account, reservation.id)
        if why := funds.refusal(reservation.spent, reservation.held, estimate):
            raise OverBudget(why)
        self.reservations[reservation.id] = reservation

    def remove_reservation(self, reservation_id: ReservationId, *, must_exist: bool) -> None:
        if self.reservations.pop(reservation_id, None) is None and must_exist:
            raise Conflict(RECORD_CHANGED)

    def beat(self, worker_id: WorkerId, *, accepts: bool) -> None:
        if worker_id not in self.workers:
            raise Conflict(RECORD_CHANGED)
        worker = self.workers[worker_id]
        self.workers[worker_id] = replace(worker, beats=worker.beats + 1, accepts=accepts)

    def remove_worker(self, worker: Worker) -> None:
        there = self.workers.pop(worker.id, None)
        if there is None or there.beats != worker.beats:
            raise Conflict(RECORD_CHANGED)
        self.claims = {agent_id: claim for agent_id, claim in self.claims.items() if claim[0] != worker.id}

    def claim_agent(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        self._require_agent(agent_id)
        if agent_id in self.claims or worker_id not in self.workers:
            raise Conflict(RECORD_EXISTS)
        self.claims[agent_id] = worker_id, fence

    def renew_claim(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        if self.claims.get(agent_id, ("", 0))[0] != worker_id:
            raise Conflict(RECORD_CHANGED)
        self.claims[agent_id] = worker_id, fence

    def unclaim_agent(self, agent_id: AgentId, worker_id: WorkerId, fence: int) -> None:
        if self.claims.get(agent_id) == (worker_id, fence):
            del self.claims[agent_id]

    def _require_free_name(self, agent: Agent) -> None:
        others = (row.value for row in self.agents.values() if row.value.id != agent.id)
        if any(name_key(other) == name_key(agent) for other in others):
            raise Conflict(RECORD_EXISTS)

    def _require_agent(self, agent_id: AgentId) -> None:
        if agent_id not in self.agents:
            raise Conflict("The agent it belongs to is gone.")


TABLES = tuple(each.name for each in fields(Store))
read_tables = attrgetter(*TABLES)
Change: TypeAlias = Callable[[Store], object]


def name_key(agent: Agent) -> tuple[ChannelScope, str]:
    """The key that is unique among agents: channel and case-insensitive name."""
    return agent.channel, agent.name.casefold()


def _next_row(rows: Rows[T], record_id: str, value: T, read: int | None) -> StoredRow[T]:
    """The row to save: the first if `read` is None, otherwise with revision `read` + 1.

    Raise Conflict after another save.
    """
    row = rows.get(record_id)
    if read is None and row:
        raise Conflict(RECORD_EXISTS)
    if read is None:
        return StoredRow(value)
    if row is None or row.revision != read:
        raise Conflict(RECORD_CHANGED)
    return replace(row, value=value, revision=read + 1)
