"""Places in the background what long-term memory cannot find yet: after a fault, or with another embedder or index."""

import logging
from dataclasses import dataclass

from agent_core.errors import DatabaseAway, MemoryAway, NotFound, OverBudget
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.ids import AgentId
from agent_core.ports.database import Database
from agent_core.ports.world import Clock
from agent_core.spending.budget_ledger import BudgetLedger

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 30.0
MOST_AGENTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexer:
    """Looks every half minute; each agent pays for its own memories. What is not placed is found by words meanwhile."""

    database: Database
    memory: LongTermMemory
    ledger: BudgetLedger
    clock: Clock

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self.catch_up()
            except (MemoryAway, DatabaseAway) as away:
                logger.warning("memories wait to be placed", extra={"why": str(away)})
            await self.clock.sleep(INTERVAL_SECONDS)

    async def catch_up(self) -> int:
        """Place what is not placed; return how many memories were. Raise MemoryAway while none can be.

        An agent whose budget does not allow it waits; the others do not wait for it.
        """
        async with self.database.begin() as work:
            behind = await work.memories.behind(self.memory.place, most=MOST_AGENTS)
        placed = 0
        for agent_id in behind:
            placed += await self._catch_up(agent_id)
        if placed:
            logger.info("memories placed", extra={"number": placed, "place": self.memory.place})
        return placed

    async def _catch_up(self, agent_id: AgentId) -> int:
        placed = 0
        try:
            async with self.database.begin() as work:
                agent = await work.agents.locate(agent_id)
            async with self.ledger.open_tracker(agent) as tracker:
                while number := await self.memory.catch_up(agent, tracker):
                    placed += number
                    logger.info("memories of an agent placed", extra={"agent": agent_id, "so_far": placed})
        except NotFound:
            pass  # it was deleted meanwhile
        except MemoryAway as away:
            if not isinstance(away.__cause__, OverBudget):
                raise
            logger.info("memories wait for a budget", extra={"agent": agent_id})
        return placed
