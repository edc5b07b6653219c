"""Indexes memories in the background that a fault, or a change of embedder or index, has left without a vector."""

import logging
from dataclasses import dataclass, field

from agent_core.errors import DatabaseAway, MemoryAway, NotFound, OverBudget
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.spending.budget_ledger import BudgetLedger

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 30.0
MAX_AGENTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexer:
    """Runs every 30 s. Each agent's budget pays for its own memories.

    A memory that is not indexed yet is found by keyword search only. `settled`: agents for which the last run had
    nothing to do; they keep nobody else off the list.
    """

    database: Database
    memory: LongTermMemory
    ledger: BudgetLedger
    clock: Clock
    settled: set[AgentId] = field(default_factory=set)

    async def run(self) -> None:
        while True:
            try:
                await self.index_all()
            except DatabaseAway:
                pass
            except MemoryAway as away:
                logger.warning("memories are not indexed yet", extra={"why": str(away)})
            await self.clock.sleep(INTERVAL_SECONDS)

    async def index_all(self) -> int:
        """Index all memories that are not indexed; return how many. Raise MemoryAway while indexing is impossible.

        An agent whose budget is spent is skipped.
        """
        placed = 0
        settled: set[AgentId] = set()
        for agent_id in await self._list_behind():
            number = await self._index_agent(agent_id)
            settled |= set() if number else {agent_id}
            placed += number
        self.settled.clear()
        self.settled.update(settled)
        if placed:
            logger.info("memories indexed", extra={"number": placed, "place": self.memory.index_key})
        return placed

    async def _list_behind(self) -> list[AgentId]:
        """Agents with memories of another key than one of those in use: perhaps their own, so that all is well."""
        behind: dict[AgentId, None] = {}
        async with self.database.begin() as work:
            for key in self.memory.index_keys:
                found = await work.memories.list_agents_unindexed(key, most=MAX_AGENTS + len(self.settled))
                behind |= dict.fromkeys(found)
        return [*behind]

    async def _index_agent(self, agent_id: AgentId) -> int:
        placed = 0
        try:
            async with self.database.begin() as work:
                agent = await work.agents.locate(agent_id)
            async with self.ledger.open_tracker(agent) as tracker:
                while number := await self.memory.index_batch(agent, tracker):
                    placed += number
                    logger.info("memories of an agent indexed", extra={"agent": agent_id, "so_far": placed})
        except NotFound:
            pass  # the agent was deleted meanwhile
        except MemoryAway as away:
            if not isinstance(away.__cause__, OverBudget):
                raise
            logger.info("memories are not indexed: over budget", extra={"agent": agent_id})
        return placed
