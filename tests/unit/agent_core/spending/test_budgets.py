"""Budgets: what is weighed before a call, by agents that work at the same time, and what is saved of it."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

import pytest

from agent_core.errors import InvalidInput, NotAllowed, OverBudget, Superseded
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import FREE, Budget, Usage
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.reservation import Account
from agent_core.service.agent_settings import AgentSettings
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

CENT = Decimal("0.01")


BOB = an_agent(id="agent-bob", name="Bob")


def costs(cents: int) -> Usage:
    return Usage(prompt=10, cost=cents * CENT)


async def call(tracker: SpendingTracker, cents: int | None) -> None:
    """Make a call that may cost so many cents and costs nothing."""
    async with tracker.reserve(None if cents is None else cents * CENT, "m", "chat"):
        pass


@dataclass(frozen=True, slots=True)
class Town:
    """A channel with agents, and the ledger of one process."""

    database: TemporaryDatabase
    ledger: BudgetLedger

    @classmethod
    async def of(cls, *agents: Agent, channel: int | None = None) -> Self:
        """Save the agents, and the channel's limit in cents."""
        database = TemporaryDatabase()
        await keep(database, *agents)
        async with database.begin() as work:
            work.budgets.set_limit(CHANNEL, None if channel is None else channel * CENT)
            await work.commit()
        return cls(database, BudgetLedger(database, FakeClock()))

    def another(self, worker: str) -> BudgetLedger:
        """The ledger of another process."""
        return BudgetLedger(self.database, FakeClock(), worker=worker)

    def step(self, agent: Agent) -> AbstractAsyncContextManager[SpendingTracker]:
        return self.ledger.open_tracker(agent)

    async def budget(self) -> Budget:
        async with self.database.begin() as work:
            return await work.budgets.of(CHANNEL)

    async def reserved(self) -> Decimal:
        """What all steps reserve in the channel."""
        async with self.database.begin() as work:
            return (await work.reservations.funds(Account(channel=CHANNEL))).reserved_of_channel

    async def agents(self) -> tuple[Agent, ...]:
        async with self.database.begin() as work:
            return await work.agents.of(CHANNEL)


async def test_a_call_within_both_budgets_is_made_and_one_beyond_either_is_not() -> None:
    tracker = SpendingTracker(Budget(limit=10 * CENT), Budget(limit=5 * CENT))
    async with tracker.reserve(5 * CENT, "m", "chat"):
        tracker.record("chat", costs(3))
    with pytest.raises(OverBudget, match=r"The channel's budget is reached: \$0\.03 of \$0\.05 is spent"):
        await call(tracker, 3)
    async with tracker.reserve(2 * CENT, "m", "summary"):
        tracker.record("summary", costs(2))
    assert tracker.total == Usage(prompt=20, cost=5 * CENT)


async def test_no_call_begins_for_an_agent_that_another_worker_has_taken() -> None:
    async def confirm() -> None:
        raise Superseded(AgentId("a1"))

    tracker = SpendingTracker(confirm=confirm)
    with pytest.raises(Superseded):
        async with tracker.reserve(CENT, "m", "chat"):
            pytest.fail("the call began")
    assert tracker.held == 0


async def test_what_was_settled_counts_as_spent() -> None:
    tracker = SpendingTracker(Budget(limit=10 * CENT))
    tracker.record("chat", costs(6))
    assert tracker.settle() == {"chat": costs(6)}
    assert (tracker.spent, tracker.agent.spent) == ({}, 6 * CENT)
    with pytest.raises(OverBudget):
        await call(tracker, 5)


async def test_without_any_limit_a_model_without_a_price_may_be_asked() -> None:
    await call(SpendingTracker(), None)
    with pytest.raises(OverBudget, match="No price is known for m"):
        await call(SpendingTracker(Budget(limit=CENT)), None)


async def test_two_agents_at_work_never_both_spend_the_channels_last_dollar() -> None:
    town = await Town.of(an_agent(), BOB, channel=10)
    async with town.step(an_agent()) as hers, town.step(BOB) as his:
        async with hers.reserve(7 * CENT, "m", "chat"):
            with pytest.raises(OverBudget, match=r"The channel's budget is reached: \$0\.00 of \$0\.10 is spent"):
                await call(his, 7)
        hers.record("chat", costs(2))
        await town.ledger.save_spending(Account.of(an_agent()), hers)
        async with his.reserve(7 * CENT, "m", "chat"):
            his.record("chat", costs(7))
    assert await town.reserved() == FREE
    assert (await town.budget()).spent == 9 * CENT


async def test_an_agent_and_its_helper_never_both_spend_the_last_dollar_of_their_budget() -> None:
    ada, bob = (replace(each, budget=Budget(limit=10 * CENT)) for each in (an_agent(), BOB))
    helper = an_agent(id="agent-helper", name="Helper", head=ada.id, parent=ada.id)
    town = await Town.of(ada, bob, helper)
    async with (
        town.step(ada) as hers,
        town.step(helper) as shared,
        town.step(bob) as his,
        hers.reserve(7 * CENT, "m", "chat"),
    ):
        with pytest.raises(OverBudget, match="The budget is reached"):
            await call(shared, 7)
        async with his.reserve(7 * CENT, "m", "chat"):
            assert (await shared.load_left(), await his.load_left()) == (3 * CENT, 3 * CENT)


async def test_calls_of_one_agent_at_the_same_time_never_spend_more_than_its_budget() -> None:
    ada = an_agent(budget=Budget(limit=10 * CENT))
    town = await Town.of(ada)
    async with town.step(ada) as tracker:
        async with tracker.reserve(7 * CENT, "m", "chat"):
            assert await tracker.load_left() == 3 * CENT
            with pytest.raises(OverBudget):
                await call(tracker, 7)
        assert await tracker.load_left() == 10 * CENT


async def test_calls_of_one_agent_that_begin_together_are_all_reserved() -> None:
    town = await Town.of(an_agent(), channel=10)
    async with town.step(an_agent()) as tracker:

        async def overlap() -> None:
            async with tracker.reserve(2 * CENT, "m", "chat"):
                await together.wait()

        together = asyncio.Barrier(3)
        await asyncio.gather(*(overlap() for _ in range(3)))
        assert await town.reserved() == 6 * CENT


@pytest.mark.parametrize(("estimate", "reserved"), [("0", "0"), ("0.0009", "0"), ("0.001", "0.001")])
async def test_without_a_limit_only_what_people_can_see_is_reserved(estimate: str, reserved: str) -> None:
    town = await Town.of(an_agent())
    async with town.step(an_agent()) as tracker, tracker.reserve(Decimal(estimate), "m", "embedding"):
        assert await town.reserved() == Decimal(reserved)
    assert await town.reserved() == FREE


async def test_what_is_left_by_a_process_that_ended_is_charged_once_as_an_estimate() -> None:
    ada = an_agent()
    helper = an_agent(id="agent-helper", name="Helper", head=ada.id, parent=ada.id)
    town = await Town.of(ada, helper)
    dead = town.another("dead")
    step = dead.tracker(Account.of(helper), Budget(), Budget())
    async with step.reserve(5 * CENT, "m", "chat"):
        step.record("chat", costs(2))
    await step.reserve(20 * CENT, "m", "repair").__aenter__()
    assert [await town.ledger.charge_left("dead") for _ in range(2)] == [22 * CENT, FREE]
    charged = Budget(spent=22 * CENT, estimated=20 * CENT)
    assert [await town.budget(), *[each.budget for each in await town.agents()]] == [charged] * 3
    assert [each.calls for each in await town.agents()] == [{}, {"repair": Usage(cost=22 * CENT)}]
    assert await town.reserved() == FREE


async def test_the_channel_pays_what_deleted_agents_left() -> None:
    town = await Town.of(an_agent())
    dead = town.another("dead")
    for account in (Account.of(an_agent()), Account(channel=CHANNEL)):
        await dead.tracker(account, Budget(), Budget()).reserve(5 * CENT, "m", "draft").__aenter__()
    async with town.database.begin() as work:
        work.agents.remove(await work.agents.get(CHANNEL, an_agent().id))
        await work.commit()
    await dead.charge_left_by_others()
    assert await town.budget() == Budget()
    await town.ledger.charge_left_by_others()
    assert await town.budget() == Budget(spent=10 * CENT, estimated=10 * CENT)


async def test_a_process_that_is_alive_after_all_does_not_charge_a_second_time() -> None:
    town = await Town.of(an_agent())
    slow = town.another("slow")
    async with slow.open_tracker(an_agent()) as tracker, tracker.reserve(20 * CENT, "m", "review"):
        await town.ledger.charge_left("slow")
        tracker.record("review", costs(3))
    assert await town.budget() == Budget(spent=20 * CENT, estimated=20 * CENT)


async def test_a_process_that_is_alive_after_all_charges_its_next_calls_only() -> None:
    town = await Town.of(an_agent())
    slow = town.another("slow")
    async with slow.open_tracker(an_agent()) as tracker:
        async with tracker.reserve(5 * CENT, "m", "review"):
            tracker.record("review", costs(4))
        await town.ledger.charge_left("slow")
        async with tracker.reserve(7 * CENT, "m", "review"):
            tracker.record("review", costs(2))
            assert await town.reserved() == 7 * CENT
    assert await town.budget() == Budget(spent=7 * CENT, estimated=5 * CENT)


async def spent_in_vain(ledger: BudgetLedger) -> None:
    async with ledger.open_tracker(an_agent()) as tracker:
        tracker.record("review", costs(4))
        raise ZeroDivisionError


async def test_what_was_spent_is_saved_whatever_went_wrong_afterwards() -> None:
    database = TemporaryDatabase()
    await keep(database, an_agent())
    with pytest.raises(ZeroDivisionError):
        await spent_in_vain(BudgetLedger(database, FakeClock()))
    async with database.begin() as work:
        agent = await work.agents.get(CHANNEL, an_agent().id)
        assert (agent.budget.spent, agent.calls) == (4 * CENT, {"review": costs(4)})
        assert (await work.budgets.of(CHANNEL)).spent == 4 * CENT


async def test_the_channel_pays_for_an_agent_that_was_deleted_meanwhile() -> None:
    town = await Town.of(an_agent())
    async with town.ledger.open_tracker(an_agent()) as tracker:
        async with town.database.begin() as work:
            work.agents.remove(await work.agents.get(CHANNEL, an_agent().id))
            await work.commit()
        tracker.record("review", costs(4))
    assert await town.budget() == Budget(spent=4 * CENT)


@pytest.mark.parametrize("kind", ["guest", "external", "bot"])
async def test_only_full_members_set_what_a_channel_may_spend(kind: str) -> None:
    stage = Stage()
    someone = Actor(id="u-x", display="x", kind=kind, workspace="local")  # type: ignore[arg-type]
    with pytest.raises(NotAllowed, match="you may not set budgets here"):
        await stage.agent_settings.set_channel_budget(CENT, Origin(by=someone, channel=CHANNEL))


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity"])
async def test_a_budget_that_is_none_is_refused(amount: str) -> None:
    agent_settings: AgentSettings = Stage().agent_settings
    with pytest.raises(InvalidInput, match="an amount in US dollars above 0"):
        await agent_settings.set_channel_budget(Decimal(amount), Origin(by=ANA, channel=CHANNEL))


async def test_an_embedding_beyond_the_budget_is_not_made_and_the_memory_is_kept_for_later() -> None:
    embedder = WordEmbedder(price=Decimal(1000))
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")), embedder=embedder)
    agent = await stage.create(budget=CENT)
    assert await stage.memories.add(agent.id, "Keep this.", stage.origin()) == 1
    page = await stage.memories.page(agent.channel, agent.id)
    assert (embedder.calls, page.total, page.is_behind) == ([], 1, True)


async def test_a_memory_search_is_paid_by_its_agent() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")), embedder=WordEmbedder(price=Decimal(1)))
    agent = await stage.create()
    await asyncio.gather(*(stage.memories.search(agent.id, "words", stage.origin()) for _ in range(2)))
    agent = await stage.views.agent(agent.channel, agent.id)
    assert agent.budget.spent == agent.calls["embedding"].cost > 0
