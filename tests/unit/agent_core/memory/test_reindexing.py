"""What is remembered but cannot be found yet is placed in the background."""

import asyncio
from decimal import Decimal

import pytest

from agent_core.errors import MemoryAway, ModelUnavailable
from agent_core.memory.long_term import LongTermMemory
from agent_core.memory.reindexing import INTERVAL_SECONDS, Reindexer
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget
from agent_core.model.records.memory import Memory
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import NOON, an_agent, keep
from agent_core.testing.memory_index import InMemoryIndex

MANY = 150


class Archive:
    """Agents with memories, and what places them."""

    def __init__(self, embedder: WordEmbedder) -> None:
        self.database, self.clock, self.embedder = TemporaryDatabase(), FakeClock(), embedder
        self.memory = LongTermMemory(database=self.database, embedder=embedder, index=InMemoryIndex())
        ledger = BudgetLedger(self.database, self.clock)
        self.reindexer = Reindexer(database=self.database, memory=self.memory, ledger=ledger, clock=self.clock)

    async def holds(self, agent: Agent, number: int) -> None:
        """Save memories in no place."""
        await keep(self.database, agent)
        async with self.database.begin() as work:
            work.memories.add(agent, [Memory.of(f"thing {each}", source="x", at=NOON) for each in range(number)])
            await work.commit()


async def test_all_of_it_is_placed_in_batches_and_paid_by_its_agent() -> None:
    archive = Archive(WordEmbedder(price=Decimal("0.1")))
    await archive.holds(an_agent(), MANY)
    assert await archive.reindexer.index_all() == MANY
    assert [len(call) for call in archive.embedder.calls] == [64, 64, 22]
    assert len(await archive.memory.recall(an_agent(), "thing 7", 5, SpendingTracker())) == 5
    async with archive.database.begin() as work:
        assert (await work.agents.locate(an_agent().id)).calls["embedding"].cost > 0


async def test_an_agent_without_money_keeps_nobody_waiting() -> None:
    archive = Archive(WordEmbedder(price=Decimal("0.1")))
    poor = an_agent(id=AgentId("agent-a-poor"), name="Poor", budget=Budget(limit=Decimal("0.000001")))
    await archive.holds(poor, 3)
    await archive.holds(an_agent(), 2)
    assert await archive.reindexer.index_all() == 2


async def test_an_embedder_that_is_away_is_told_once_for_all() -> None:
    archive = Archive(WordEmbedder())
    archive.embedder.faults = [ModelUnavailable("It is down.")] * 2
    await archive.holds(an_agent(), 3)
    await archive.holds(an_agent(id=AgentId("agent-bob"), name="Bob"), 3)
    with pytest.raises(MemoryAway):
        await archive.reindexer.index_all()
    assert len(archive.embedder.faults) == 1


async def test_it_looks_again_every_half_minute() -> None:
    archive = Archive(WordEmbedder())
    archive.embedder.faults = [ModelUnavailable("It is down.")]
    await archive.holds(an_agent(), 3)
    task = asyncio.create_task(archive.reindexer.run())
    await archive.clock.until_sleeping()
    assert archive.embedder.calls == []
    archive.clock.advance(INTERVAL_SECONDS)
    await archive.clock.until_sleeping()
    assert len(archive.embedder.calls) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
