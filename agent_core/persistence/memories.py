"""Repository of long-term memories with their vectors, and the counters by which caches of vectors notice changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, text, union_all, update

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.records.memory import Memory, MemoryVersion, Vector
from agent_core.persistence.connections import Values
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import NO_INDEX_KEY, AnyText, memories, memory_changes
from agent_core.persistence.write_buffer import SqlRepository, agent_values, read_value

_COLUMNS = memories.c
_THEIRS = (_COLUMNS.agent_id == bindparam("of_agent"), _COLUMNS.channel == bindparam("in_channel"))
_THIS = _COLUMNS.id == bindparam("the_id")
_OF = select(_COLUMNS.data).where(*_THEIRS).order_by(_COLUMNS.id.desc()).limit(bindparam("most"))
_OF_BEFORE = _OF.where(_COLUMNS.id < bindparam("before"))
_SOME = select(_COLUMNS.id, _COLUMNS.data).where(_COLUMNS.id.in_(bindparam("ids", expanding=True)), *_THEIRS)
_COUNT_MEMORIES = select(func.count()).select_from(memories).where(*_THEIRS)

# A B-tree index serves < and >, but not <>. The column `place` holds the index key.
_OTHER_KEY = (_COLUMNS.place < bindparam("in_place"), _COLUMNS.place > bindparam("in_place"))
_UNINDEXED_IDS = union_all(*(select(_COLUMNS.id).where(*_THEIRS, other_key) for other_key in _OTHER_KEY))
_UNINDEXED = (
    select(_COLUMNS.data)
    .where(_COLUMNS.id.in_(_UNINDEXED_IDS.order_by("id").limit(bindparam("most"))))
    .order_by(_COLUMNS.id)
)
# Grouped in the outer query: grouped inside, SQLite would scan all agents.
_BEHIND_EACH = union_all(*(select(_COLUMNS.agent_id).where(other_key) for other_key in _OTHER_KEY)).subquery("behind")
_BEHIND = (
    select(_BEHIND_EACH.c.agent_id)
    .group_by(_BEHIND_EACH.c.agent_id)
    .order_by(_BEHIND_EACH.c.agent_id)
    .limit(bindparam("most"))
)
_VECTORS = (
    select(_COLUMNS.id, _COLUMNS.vector)
    .where(*_THEIRS, _COLUMNS.place == bindparam("in_place"))
    .order_by(_COLUMNS.id)
    .limit(bindparam("most"))
)
_VECTORS_AFTER = _VECTORS.where(_COLUMNS.id > bindparam("after"))

_COUNTED = (memory_changes.c.agent_id == bindparam("of_agent"), memory_changes.c.channel == bindparam("in_channel"))
_CHANGES = select(memory_changes.c.added, memory_changes.c.removed).where(*_COUNTED)
# Runs first and locks the counter row, so that the counts that follow stay right until the commit.
_LOCK_COUNTER = text(
    "INSERT INTO memory_changes (agent_id, channel, added, removed)"
    " SELECT id, channel, 0, 0 FROM agents WHERE id = :of_agent AND channel = :in_channel"
    " ON CONFLICT (agent_id) DO UPDATE SET added = memory_changes.added"
).bindparams(*(bindparam(name, type_=AnyText) for name in ("of_agent", "in_channel")))
_ONE = select(func.count()).select_from(memories).where(_THIS, *_THEIRS)
_ONE_INDEXED = _ONE.where(_COLUMNS.place != NO_INDEX_KEY).scalar_subquery()
_ALL_INDEXED = _COUNT_MEMORIES.where(_COLUMNS.place != NO_INDEX_KEY).scalar_subquery()
_ADD_TO_COUNTER = update(memory_changes).where(*_COUNTED)
_COUNT_PUT = _ADD_TO_COUNTER.values(
    added=memory_changes.c.added + _ONE.scalar_subquery(), removed=memory_changes.c.removed + _ONE_INDEXED
)
_COUNT_REMOVED = _ADD_TO_COUNTER.values(removed=memory_changes.c.removed + _ONE_INDEXED)
_COUNT_CLEARED = _ADD_TO_COUNTER.values(removed=memory_changes.c.removed + _ALL_INDEXED)
_ADD = insert(memories)
_PUT = update(memories).where(_THIS, *_THEIRS).values(place=bindparam("in_place"), vector=bindparam("as_vector"))
_REMOVE = delete(memories).where(_THIS, *_THEIRS)
_CLEAR = delete(memories).where(*_THEIRS)


class SqlMemories(SqlRepository):
    """See `Memories` in the ports."""

    async def of(self, agent: Agent, *, most: int, before: MemoryId | None = None) -> tuple[Memory, ...]:
        statement = _OF if before is None else _OF_BEFORE
        return await self._buffer.values(Memory, statement, {**agent_values(agent), "most": most, "before": before})

    async def get_many(self, agent: Agent, ids: Sequence[MemoryId]) -> tuple[Memory, ...]:
        rows = await self._buffer.rows(_SOME, {**agent_values(agent), "ids": list(ids)})
        found = {row.id: row.data for row in rows}
        return tuple(read_value(Memory, found[each])[0] for each in ids if each in found)

    async def count(self, agent: Agent) -> int:
        rows = await self._buffer.rows(_COUNT_MEMORIES, agent_values(agent))
        return int(rows[0][0])

    async def list_unindexed(self, agent: Agent, index_key: str, *, most: int) -> tuple[Memory, ...]:
        values = {**agent_values(agent), "in_place": index_key, "most": most}
        return await self._buffer.values(Memory, _UNINDEXED, values)

    async def vectors(
        self, agent: Agent, index_key: str, *, after: MemoryId | None = None, most: int
    ) -> tuple[tuple[MemoryId, Vector], ...]:
        values = {**agent_values(agent), "in_place": index_key, "most": most, "after": after}
        rows = await self._buffer.rows(_VECTORS if after is None else _VECTORS_AFTER, values)
        return tuple((MemoryId(row.id), Vector(row.vector)) for row in rows)

    async def version(self, agent: Agent) -> MemoryVersion:
        rows = await self._buffer.rows(_CHANGES, agent_values(agent))
        return MemoryVersion(rows[0].added, rows[0].removed) if rows else MemoryVersion()

    async def list_agents_unindexed(self, index_key: str, *, most: int) -> tuple[AgentId, ...]:
        rows = await self._buffer.rows(_BEHIND, {"in_place": index_key, "most": most})
        return tuple(AgentId(row.agent_id) for row in rows)

    def add(self, agent: Agent, memories: Sequence[Memory]) -> None:
        if memories:
            self._buffer.queue(_LOCK_COUNTER, agent_values(agent), checked=True)
            self._buffer.queue(_ADD, [_row(agent, memory) for memory in memories])

    def put(self, agent: Agent, index_key: str, vectors: Mapping[MemoryId, Vector]) -> None:
        rows = [
            {**each, "in_place": index_key, "as_vector": vectors[each["the_id"]]} for each in _each(agent, [*vectors])
        ]
        self._change(agent, (_COUNT_PUT, _each(agent, [*vectors])), (_PUT, rows))

    def remove(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        rows = _each(agent, list(dict.fromkeys(ids)))
        self._change(agent, (_COUNT_REMOVED, rows), (_REMOVE, rows))

    def clear(self, agent: Agent) -> None:
        theirs = agent_values(agent)
        self._change(agent, (_COUNT_CLEARED, [theirs]), (_CLEAR, [theirs]))

    def _change(self, agent: Agent, *steps: tuple[Any, Sequence[Values]]) -> None:
        if not steps[0][1]:
            return
        self._buffer.queue(_LOCK_COUNTER, agent_values(agent))
        for statement, rows in steps:
            self._buffer.queue(statement, rows)


def _each(agent: Agent, ids: Sequence[MemoryId]) -> list[dict[str, Any]]:
    return [{**agent_values(agent), "the_id": each} for each in ids]


def _row(agent: Agent, memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "channel": agent.channel.key,
        "agent_id": agent.id,
        "at": memory.at,
        "place": NO_INDEX_KEY,
        "data": encode(memory),
    }
