"""Several processes on one database never spend more than its budgets together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from agent_core.errors import OverBudget
from agent_core.model.agent import Agent
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.records.reservation import Account
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import CHANNEL, keep
from tests.contract.test_reservations import ADA, CENT, HELPER, a_reservation, funds, limit, take, with_limit


@asynccontextmanager
async def ledgers(url: str, number: int) -> AsyncIterator[list[BudgetLedger]]:
    """The ledgers of so many processes, each with connections of its own to one database."""
    async with AsyncExitStack() as stack:
        databases = [SqlDatabase(url) for _ in range(number)]
        for each in databases:
            stack.push_async_callback(each.close)
        yield [BudgetLedger(each, FakeClock(), worker=f"process {n}") for n, each in enumerate(databases)]


@dataclass
class Calls:
    """Calls that begin at once, each of which may cost 20 cents and does. Those that are made end together."""

    number: int
    made: int = 0
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ready, self.decided = asyncio.Barrier(self.number), asyncio.Barrier(self.number)

    async def make(self, ledger: BudgetLedger, agent: Agent) -> None:
        async with ledger.open_tracker(agent) as tracker:
            await self.ready.wait()
            try:
                async with tracker.reserve(20 * CENT, "m", "chat"):
                    await self.decided.wait()
                    tracker.record("chat", Usage(cost=20 * CENT))
                    self.made += 1
            except OverBudget as over:
                self.refused.append(str(over))
                await self.decided.wait()


@pytest.mark.proves("budget:processes")
@pytest.mark.parametrize("whose", ["channel", "root agent"])
async def test_processes_together_never_exceed_a_budget(url: str, database: Database, whose: str) -> None:
    """Of 18 calls of $0.20 that begin at once in six processes, three are made with $0.60 left, and no fourth."""
    await keep(database, with_limit(ADA, 60) if whose == "root agent" else ADA, HELPER)
    await limit(database, 60 if whose == "channel" else None)
    calls = Calls(18)
    async with ledgers(url, 6) as processes:
        await asyncio.gather(*(calls.make(each, agent) for each in processes for agent in (ADA, HELPER, ADA)))
        assert (calls.made, len(calls.refused)) == (3, 15)
        fourth = Calls(1)
        await fourth.make(processes[0], HELPER)
    assert fourth.refused[0].endswith(
        "budget is reached: $0.60 of $0.60 is spent and the next call may cost $0.200. "
        f"Raise the budget with !budget {'channel ' if whose == 'channel' else ''}N, then Resume."
    )
    found = await funds(database, Account.of(ADA))
    assert (found.agent.spent, found.channel.spent) == (60 * CENT, 60 * CENT)
    assert (found.reserved_of_agent, found.reserved_of_channel) == (Decimal(0), Decimal(0))


@pytest.mark.slow
@pytest.mark.proves("budget:killed")
async def test_processes_that_find_the_same_dead_one_charge_its_calls_once(url: str, database: Database) -> None:
    await keep(database, ADA, HELPER)
    for number in range(4):
        await take(database, a_reservation(number, 5, Account.of(HELPER), spent=1))
    async with ledgers(url, 3) as processes:
        charged = await asyncio.gather(*(each.charge_left("one") for each in processes))
    assert sum(charged) == 24 * CENT
    async with database.begin() as work:
        (ada, helper), shared = await work.agents.of(CHANNEL), await work.budgets.of(CHANNEL)
    assert [ada.budget, helper.budget, shared] == [Budget(spent=24 * CENT, estimated=20 * CENT)] * 3
