"""Repositories of the in-memory database: memories, channel budgets and reservations."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.copies import replace
from agent_core.model.ids import AgentId, MemoryId, ReservationId
from agent_core.model.memory import Memory, MemoryVersion, Vector
from agent_core.model.reservation import Account, Funds, Reservation
from agent_core.model.usage import FREE, Budget
from agent_core.persistence.channel_budgets import from_nanodollars, to_nanodollars
from agent_core.testing.store import Store, StoredMemory
from agent_core.testing.store_buffer import StoreRepository


class MemoryMemories(StoreRepository):
    """See `Memories` in the ports."""

    async def of(self, agent: Agent, *, most: int, before: MemoryId | None = None) -> tuple[Memory, ...]:
        found = [each.memory for each in self._theirs(agent) if before is None or each.memory.id < before]
        return tuple(found[::-1][:most])

    async def get_many(self, agent: Agent, ids: Sequence[MemoryId]) -> tuple[Memory, ...]:
        found = {each.memory.id: each.memory for each in self._theirs(agent)}
        return tuple(found[each] for each in ids if each in found)

    async def count(self, agent: Agent) -> int:
        return len(self._theirs(agent))

    async def list_unindexed(self, agent: Agent, index_key: str, *, most: int) -> tuple[Memory, ...]:
        return tuple(each.memory for each in self._theirs(agent) if each.index_key != index_key)[:most]

    async def vectors(
        self, agent: Agent, index_key: str, *, after: MemoryId | None = None, most: int
    ) -> tuple[tuple[MemoryId, Vector], ...]:
        indexed = [each for each in self._theirs(agent) if each.index_key == index_key]
        found = [(each.memory.id, each.vector) for each in indexed if after is None or each.memory.id > after]
        return tuple((memory_id, vector) for memory_id, vector in found if vector is not None)[:most]

    async def version(self, agent: Agent) -> MemoryVersion:
        return self._buffer.committed.memory_changes.get((agent.id, agent.channel), MemoryVersion())

    async def list_agents_unindexed(self, index_key: str, *, most: int) -> tuple[AgentId, ...]:
        stored = self._buffer.committed.memories.values()
        return tuple(sorted({each.agent_id for each in stored if each.index_key != index_key})[:most])

    def add(self, agent: Agent, memories: Sequence[Memory]) -> None:
        stored = [StoredMemory(memory, agent.id, agent.channel) for memory in memories]
        self._buffer.queue(lambda store: store.insert_memories(stored))

    def put(self, agent: Agent, index_key: str, vectors: Mapping[MemoryId, Vector]) -> None:

        def change(store: Store) -> None:
            for each in store.memories_of(agent):
                if each.memory.id in vectors:
                    store.replace_memory(each, replace(each, index_key=index_key, vector=vectors[each.memory.id]))

        self._buffer.queue(change)

    def remove(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        self._buffer.queue(lambda store: store.remove_memories(agent, ids))

    def clear(self, agent: Agent) -> None:
        self._buffer.queue(lambda store: store.remove_memories(agent, None))

    def _theirs(self, agent: Agent) -> list[StoredMemory]:
        return sorted(self._buffer.committed.memories_of(agent), key=lambda each: each.memory.id)


class MemoryBudgets(StoreRepository):
    """See `Budgets` in the ports."""

    async def of(self, channel: ChannelScope) -> Budget:
        return self._buffer.committed.budgets.get(channel, Budget())

    def set_limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        rounded = None if limit is None else _rounded(limit)
        self._buffer.queue(lambda store: store.change_budget(channel, lambda budget: replace(budget, limit=rounded)))

    def add_spending(self, channel: ChannelScope, cost: Decimal, estimated: Decimal = FREE) -> None:
        rounded = _rounded(cost), _rounded(estimated)
        self._buffer.queue(lambda store: store.change_budget(channel, lambda budget: budget.spend(*rounded)))


class MemoryReservations(StoreRepository):
    """See `Reservations` in the ports."""

    async def find(self, reservation_id: ReservationId) -> Reservation | None:
        return self._buffer.committed.reservations.get(reservation_id)

    async def of(self, worker: str) -> tuple[Reservation, ...]:
        found = (each for each in self._buffer.committed.reservations.values() if each.worker == worker)
        return tuple(sorted(found, key=lambda each: each.id))

    async def workers(self) -> tuple[str, ...]:
        return tuple(sorted({each.worker for each in self._buffer.committed.reservations.values()}))

    async def funds(self, account: Account, *, without: ReservationId | None = None) -> Funds:
        return self._buffer.committed.funds(account, without)

    def take(self, reservation: Reservation, estimate: Decimal) -> None:
        rounded = replace(reservation, spent=_rounded(reservation.spent), held=_rounded(reservation.held))
        self._buffer.queue(lambda store: store.take_reservation(rounded, estimate))

    def remove(self, reservation_id: ReservationId, *, must_exist: bool) -> None:
        self._buffer.queue(lambda store: store.remove_reservation(reservation_id, must_exist=must_exist))


def _rounded(amount: Decimal) -> Decimal:
    return from_nanodollars(to_nanodollars(amount))
