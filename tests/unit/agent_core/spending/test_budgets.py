"""Budgets: what is weighed before a call, by agents that work at the same time, and what is saved of it."""

import asyncio
from decimal import Decimal

import pytest

from agent_core.errors import InvalidInput, NotAllowed, OverBudget
from agent_core.model.actors import Actor, Origin
from agent_core.model.usage import Budget, Usage
from agent_core.service.agent_settings import AgentSettings
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.database import InMemoryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

CENT = Decimal("0.01")


def costs(cents: int) -> Usage:
    return Usage(prompt=10, cost=cents * CENT)


def test_a_call_within_both_budgets_is_made_and_one_beyond_either_is_not() -> None:
    tracker = SpendingTracker(Budget(limit=10 * CENT), Budget(limit=5 * CENT))
    with tracker.reserve(5 * CENT, "m"):
        tracker.record("chat", costs(3))
    with (
        pytest.raises(OverBudget, match=r"The channel's budget is reached: \$0\.03 of \$0\.05 is spent"),
        tracker.reserve(3 * CENT, "m"),
    ):
        pass
    with tracker.reserve(2 * CENT, "m"):
        tracker.record("summary", costs(2))
    assert tracker.total == Usage(prompt=20, cost=5 * CENT)


def test_what_was_settled_counts_as_spent() -> None:
    tracker = SpendingTracker(Budget(limit=10 * CENT))
    tracker.record("chat", costs(6))
    assert tracker.settle() == {"chat": costs(6)}
    assert (tracker.spent, tracker.agent.spent) == ({}, 6 * CENT)
    with pytest.raises(OverBudget), tracker.reserve(5 * CENT, "m"):
        pass


def test_without_any_limit_a_model_without_a_price_may_be_asked() -> None:
    with SpendingTracker().reserve(None, "m"):
        pass
    with (
        pytest.raises(OverBudget, match="No price is known for m"),
        SpendingTracker(Budget(limit=CENT)).reserve(None, "m"),
    ):
        pass


def test_two_agents_at_work_never_both_spend_the_channels_last_dollar() -> None:
    ledger, shared = BudgetLedger(InMemoryDatabase()), Budget(limit=10 * CENT)
    ada, bob = an_agent(), an_agent(id="agent-bob", name="Bob")
    with ledger.track(ada, ada.budget, shared) as hers, ledger.track(bob, bob.budget, shared) as his:
        with hers.reserve(7 * CENT, "m"), pytest.raises(OverBudget), his.reserve(7 * CENT, "m"):
            pass
        hers.record("chat", costs(2))
        with his.reserve(7 * CENT, "m"):
            his.record("chat", costs(7))
    assert ledger.open_trackers == {}


def test_an_agent_and_its_helper_never_both_spend_the_last_dollar_of_their_budget() -> None:
    ledger, own = BudgetLedger(InMemoryDatabase()), Budget(limit=10 * CENT)
    ada, bob = an_agent(), an_agent(id="agent-bob", name="Bob")
    helper = an_agent(id="agent-helper", name="Helper", head=ada.id, parent=ada.id)
    with (
        ledger.track(ada, own, Budget()) as hers,
        ledger.track(helper, own, Budget()) as shared,
        ledger.track(bob, own, Budget()) as his,
        hers.reserve(7 * CENT, "m"),
    ):
        with pytest.raises(OverBudget), shared.reserve(7 * CENT, "m"):
            pass
        with his.reserve(7 * CENT, "m"):
            assert (shared.left, his.left) == (3 * CENT, 3 * CENT)


def test_calls_of_one_agent_at_the_same_time_never_spend_more_than_its_budget() -> None:
    tracker = SpendingTracker(Budget(limit=10 * CENT))
    with tracker.reserve(7 * CENT, "m"):
        assert tracker.left == 3 * CENT
        with pytest.raises(OverBudget), tracker.reserve(7 * CENT, "m"):
            pass
    assert tracker.left == 10 * CENT


async def spent_in_vain(ledger: BudgetLedger) -> None:
    async with ledger.open_tracker(an_agent()) as tracker:
        tracker.record("review", costs(4))
        raise ZeroDivisionError


async def test_what_was_spent_is_saved_whatever_went_wrong_afterwards() -> None:
    database = InMemoryDatabase()
    await keep(database, an_agent())
    with pytest.raises(ZeroDivisionError):
        await spent_in_vain(BudgetLedger(database))
    async with database.begin() as work:
        agent = await work.agents.get(CHANNEL, an_agent().id)
        assert (agent.budget.spent, agent.calls) == (4 * CENT, {"review": costs(4)})
        assert (await work.budgets.of(CHANNEL)).spent == 4 * CENT


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
