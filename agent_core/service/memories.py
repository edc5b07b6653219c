"""What people do with an agent's long-term memory: page, search, add, ingest, forget, export."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.errors import InvalidInput, MemoryAway, NotFound, NotPossible
from agent_core.memory.chunking import chunk_text
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.origin import ChannelScope, Origin
from agent_core.model.records.memory import Memory, Recalled
from agent_core.oversight.policy import require_may_decide, require_may_speak
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService
from agent_core.spending.budget_ledger import BudgetLedger

MEMORIES_PER_PAGE = 20
MAX_SEARCH_RESULTS = 10
MAX_SCANNED_MEMORIES = 2_000
MAX_ADDED_CHARACTERS = 20_000
MAX_EXPORTED_MEMORIES = 100_000
KEYWORD_SEARCH_NOTE = "Search by meaning is not available now. These memories contain your words."


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories, newest first; `total` counts all memories of the agent.

    `earlier`: the id to pass as `before` for the next page; None if there are no older memories.
    `is_behind`: some memories are not in the vector index yet.
    """

    memories: tuple[Memory, ...]
    total: int
    earlier: MemoryId | None
    is_behind: bool


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """What a search found. If it was a keyword search, `said` tells people so."""

    recalled: tuple[Recalled, ...]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemories(TransactionalService):
    """Each call reads or changes one agent's memories. Raises NotAllowed, NotFound, NotPossible, InvalidInput."""

    memory: LongTermMemory
    ledger: BudgetLedger

    async def page(self, channel: ChannelScope, agent_id: AgentId, before: MemoryId | None = None) -> MemoryPage:
        """The newest memories; with `before`, those older than that one."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            found = await work.memories.of(agent, most=MEMORIES_PER_PAGE + 1, before=before)
            total = await work.memories.count(agent)
        index_key = await self.memory.find_key(agent)
        async with self.database.begin() as work:
            behind = await work.memories.list_unindexed(agent, index_key, most=1)
        page = found[:MEMORIES_PER_PAGE]
        return MemoryPage(page, total, page[-1].id if len(found) > MEMORIES_PER_PAGE else None, bool(behind))

    async def search(self, agent_id: AgentId, words: str, origin: Origin) -> MemorySearchResult:
        """Search by similarity, or by keywords while the index cannot be reached. The agent pays."""
        require_may_speak(origin.by, "search here")
        agent, query = await self._agent(agent_id, origin), words.strip()
        if not query:
            raise InvalidInput({"words": "Search: write what to look for."})
        try:
            async with self.ledger.open_tracker(agent) as tracker:
                return MemorySearchResult(await self.memory.recall(agent, query[:2_000], MAX_SEARCH_RESULTS, tracker))
        except MemoryAway:
            return MemorySearchResult(await self._scan(agent, query), KEYWORD_SEARCH_NOTE)

    async def add(self, agent_id: AgentId, text: str, origin: Origin) -> int:
        """Save a text that a person wrote; return the number of chunks."""
        agent, usable = await self._require_decider(agent_id, origin, "add to memory here"), text.strip()
        if not usable or len(usable) > MAX_ADDED_CHARACTERS:
            raise InvalidInput(
                {"text": f"Memory: between 1 and {MAX_ADDED_CHARACTERS:,} characters, not {len(usable):,}."}
            )
        return await self._remember(agent, usable, str(origin.by), origin, "added to memory")

    async def ingest(self, agent_id: AgentId, filename: str, text: str, origin: Origin) -> int:
        """Save a person's text file in overlapping chunks; return their number."""
        agent = await self._require_decider(agent_id, origin, "add to memory here")
        return await self._remember(agent, text, filename, origin, "added a file to memory")

    async def forget(self, agent_id: AgentId, memory_id: MemoryId, origin: Origin) -> Memory:
        agent = await self._require_decider(agent_id, origin, "remove memories here")
        async with self.database.begin() as work:
            found = await work.memories.get_many(agent, [memory_id])
        if not found:
            raise NotFound("memory", memory_id)
        try:
            await self.memory.forget(agent, [memory_id])
        except MemoryAway as away:
            raise _to_not_possible(away) from away
        await self._save_audit(agent, origin, "removed a memory", found[0].text[:200])
        return found[0]

    async def forget_all(self, agent_id: AgentId, origin: Origin) -> int:
        """Delete all memories of the agent; return their number."""
        agent = await self._require_decider(agent_id, origin, "remove memories here")
        async with self.database.begin() as work:
            number = await work.memories.count(agent)
        try:
            await self.memory.clear(agent)
        except MemoryAway as away:
            raise _to_not_possible(away) from away
        await self._save_audit(agent, origin, "removed all memories", f"{number:,}")
        return number

    async def export(self, channel: ChannelScope, agent_id: AgentId) -> str:
        """All memories as JSON Lines, oldest first: id, at, source, turn, text."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            newest = await work.memories.of(agent, most=MAX_EXPORTED_MEMORIES)
        return "".join(f"{json.dumps(_as_json(memory), ensure_ascii=False)}\n" for memory in reversed(newest))

    async def _agent(self, agent_id: AgentId, origin: Origin) -> Agent:
        async with self.database.begin() as work:
            return await work.agents.get(origin.channel, agent_id)

    async def _require_decider(self, agent_id: AgentId, origin: Origin, what: str) -> Agent:
        agent = await self._agent(agent_id, origin)
        require_may_decide(agent, origin.by, what)
        return agent

    async def _remember(self, agent: Agent, text: str, source: str, origin: Origin, what: str) -> int:
        now = self.clock.now()
        memories = [Memory.of(piece, source=source, at=now) for piece in chunk_text(text)]
        if await self.save(lambda work: self.is_repeated(work, origin)):
            return len(memories)
        async with self.ledger.open_tracker(agent) as tracker:
            await self.memory.add(agent, memories, tracker)
        await self._save_audit(agent, origin, what, f"{source}: {text[:200]}")
        return len(memories)

    async def _scan(self, agent: Agent, words: str) -> tuple[Recalled, ...]:
        async with self.database.begin() as work:
            newest: Sequence[Memory] = await work.memories.of(agent, most=MAX_SCANNED_MEMORIES)
        wanted = words.casefold().split()
        held = (memory for memory in newest if all(word in memory.text.casefold() for word in wanted))
        return tuple(Recalled(memory, 0.0) for memory, _ in zip(held, range(MAX_SEARCH_RESULTS), strict=False))

    async def _save_audit(self, agent: Agent, origin: Origin, act: str, detail: str) -> None:
        async def append(work: UnitOfWork) -> None:
            self.audit(work, agent, origin, act, detail)

        await self.save(append)


def _to_not_possible(away: MemoryAway) -> NotPossible:
    return NotPossible(f"Nothing was removed: long-term memory cannot be reached. {away} Try again later.")


def _as_json(memory: Memory) -> dict[str, object]:
    place = {"source": memory.source, "turn": memory.turn} if memory.turn else {"source": memory.source}
    return {"id": memory.id, "at": memory.at.isoformat(), **place, "text": memory.text}
