"""What people can do with an agent's long-term memory: look through it, search, add, forget, take it along."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.errors import InvalidInput, MemoryAway, NotFound, NotPossible
from agent_core.memory.chunking import pieces
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.memory import Memory, Recalled
from agent_core.oversight.policy import require_may_decide, require_may_speak
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.world import Clock
from agent_core.spending.budget_ledger import BudgetLedger

PAGE = 20
MOST_FOUND = 10
MOST_SCANNED = 2_000
MOST_ADDED = 20_000
MOST_EXPORTED = 100_000
BY_WORDS = "Long-term memory cannot be asked for likeness now, so this is what holds your words."


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, newest first, with how many there are and the id to go on from, None at the end."""

    memories: tuple[Memory, ...]
    total: int
    earlier: MemoryId | None
    is_behind: bool


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """What a search found; `said` tells people where it is not by likeness."""

    recalled: tuple[Recalled, ...]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemories:
    """Everything stays within the agent and its channel. Raises NotAllowed, NotFound, NotPossible, InvalidInput."""

    database: Database
    memory: LongTermMemory
    ledger: BudgetLedger
    clock: Clock

    async def page(self, channel: ChannelScope, agent_id: AgentId, before: MemoryId | None = None) -> MemoryPage:
        """The newest memories, or those before one."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            found = await work.memories.of(agent, most=PAGE + 1, before=before)
            total = await work.memories.count(agent)
            behind = await work.memories.list_unindexed(agent, self.memory.index_key, most=1)
        page = found[:PAGE]
        return MemoryPage(page, total, page[-1].id if len(found) > PAGE else None, bool(behind))

    async def search(self, agent_id: AgentId, words: str, origin: Origin) -> MemorySearchResult:
        """What is like these words, or holds them while likeness cannot be asked. The agent pays for it."""
        require_may_speak(origin.by, "search here")
        agent, said = await self._agent(agent_id, origin), words.strip()
        if not said:
            raise InvalidInput({"words": "Search: write what to look for."})
        try:
            async with self.ledger.open_tracker(agent) as tracker:
                return MemorySearchResult(await self.memory.recall(agent, said[:2_000], MOST_FOUND, tracker))
        except MemoryAway:
            return MemorySearchResult(await self._scan(agent, said), BY_WORDS)

    async def add(self, agent_id: AgentId, text: str, origin: Origin) -> int:
        """Keep what a person wrote; return in how many pieces."""
        agent, said = await self._require_decider(agent_id, origin, "add to memory here"), text.strip()
        if not said or len(said) > MOST_ADDED:
            raise InvalidInput({"text": f"Memory: between 1 and {MOST_ADDED:,} characters, not {len(said):,}."})
        return await self._remember(agent, said, str(origin.by), origin, "added to memory")

    async def ingest(self, agent_id: AgentId, filename: str, text: str, origin: Origin) -> int:
        """Keep a text file that a person gave, in overlapping pieces; return in how many."""
        agent = await self._require_decider(agent_id, origin, "add to memory here")
        return await self._remember(agent, text, filename, origin, "added a file to memory")

    async def forget(self, agent_id: AgentId, memory_id: MemoryId, origin: Origin) -> Memory:
        """Remove one memory."""
        agent = await self._require_decider(agent_id, origin, "remove memories here")
        async with self.database.begin() as work:
            found = await work.memories.get_many(agent, [memory_id])
        if not found:
            raise NotFound("memory", memory_id)
        try:
            await self.memory.forget(agent, [memory_id])
        except MemoryAway as away:
            raise _not_now(away) from away
        await self._audit(agent, origin, "removed a memory", found[0].text[:200])
        return found[0]

    async def forget_all(self, agent_id: AgentId, origin: Origin) -> int:
        """Remove all memories of the agent; return how many there were."""
        agent = await self._require_decider(agent_id, origin, "remove memories here")
        async with self.database.begin() as work:
            number = await work.memories.count(agent)
        try:
            await self.memory.clear(agent)
        except MemoryAway as away:
            raise _not_now(away) from away
        await self._audit(agent, origin, "removed all memories", f"{number:,}")
        return number

    async def export(self, channel: ChannelScope, agent_id: AgentId) -> str:
        """All memories as JSON, a line each, oldest first: id, at, source, turn, text."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            newest = await work.memories.of(agent, most=MOST_EXPORTED)
        return "".join(f"{json.dumps(_exported(memory), ensure_ascii=False)}\n" for memory in reversed(newest))

    async def _agent(self, agent_id: AgentId, origin: Origin) -> Agent:
        async with self.database.begin() as work:
            return await work.agents.get(origin.channel, agent_id)

    async def _require_decider(self, agent_id: AgentId, origin: Origin, what: str) -> Agent:
        agent = await self._agent(agent_id, origin)
        require_may_decide(agent, origin.by, what)
        return agent

    async def _remember(self, agent: Agent, text: str, source: str, origin: Origin, what: str) -> int:
        now = self.clock.now()
        memories = [Memory.of(piece, source=source, at=now) for piece in pieces(text)]
        if await self._is_repeated(origin, now):
            return len(memories)
        async with self.ledger.open_tracker(agent) as tracker:
            await self.memory.add(agent, memories, tracker)
        await self._audit(agent, origin, what, f"{source}: {text[:200]}")
        return len(memories)

    async def _scan(self, agent: Agent, words: str) -> tuple[Recalled, ...]:
        async with self.database.begin() as work:
            newest: Sequence[Memory] = await work.memories.of(agent, most=MOST_SCANNED)
        wanted = words.casefold().split()
        held = (memory for memory in newest if all(word in memory.text.casefold() for word in wanted))
        return tuple(Recalled(memory, 0.0) for memory, _ in zip(held, range(MOST_FOUND), strict=False))

    async def _is_repeated(self, origin: Origin, now: datetime) -> bool:
        async def act(work: UnitOfWork) -> bool:
            return origin.delivery is not None and not await work.deliveries.first_time(origin.delivery, now)

        return await in_one_unit(self.database, act)

    async def _audit(self, agent: Agent, origin: Origin, act: str, detail: str) -> None:
        entry = AuditEntry.on(agent, act, by=origin.by, at=self.clock.now(), detail=detail)

        async def save(work: UnitOfWork) -> None:
            work.audit.append(entry)

        await in_one_unit(self.database, save)


def _not_now(away: MemoryAway) -> NotPossible:
    return NotPossible(f"Nothing was removed: long-term memory cannot be reached. {away} Try again later.")


def _exported(memory: Memory) -> dict[str, object]:
    place = {"source": memory.source, "turn": memory.turn} if memory.turn else {"source": memory.source}
    return {"id": memory.id, "at": memory.at.isoformat(), **place, "text": memory.text}
