"""What operators read of every database: spending by day, agents that are stuck or wait, workers and their jobs."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Paused, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.records.operations import SpendingSums, Spent
from agent_core.model.records.reservation import Account
from agent_core.ports.database import Database
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep

SLACK = ChannelScope("slack", "T1", "C1")
CALL = Usage(prompt=100, completion=20, cost=Decimal("0.25"))
STATES: Mapping[str, AgentStatus] = {
    "thinks": Thinking(),
    "held": Thinking(held_up="The endpoint answered 500.", tries=3),
    "helped": Thinking(waits_for=("Bob",)),
    "acts": Acting(),
    "asks": Acting(asks=True),
    "waits": Awaiting(),
    "rests": Paused("Out of budget."),
}


def agents_in(states: Mapping[str, AgentStatus], since: datetime) -> list[Agent]:
    """An agent in each state, the first since the longest time; every second one in another channel."""
    return [
        an_agent(
            id=AgentId(name),
            name=name,
            status=status,
            since=since + timedelta(minutes=at),
            channel=(CHANNEL, SLACK)[at % 2],
        )
        for at, (name, status) in enumerate(states.items())
    ]


async def spend(database: Database, *calls: tuple[ChannelScope, datetime, str, Usage]) -> None:
    async with database.begin() as work:
        for call in calls:
            work.budgets.add_to_day(*call)
        await work.commit()


async def sums(database: Database, since: str) -> SpendingSums:
    async with database.begin() as work:
        return await work.budgets.sum_days(since)


async def test_spending_adds_up_by_day_by_channel_and_by_model(database: Database) -> None:
    yesterday = NOON - timedelta(days=1)
    await spend(database, (CHANNEL, yesterday, "big", CALL), (CHANNEL, NOON, "big", CALL), (SLACK, NOON, "small", CALL))
    await spend(database, (CHANNEL, NOON, "big", CALL), (CHANNEL, NOON - timedelta(days=40), "big", CALL))
    assert await sums(database, "2026-02-13") == SpendingSums(
        days=(Spent("2026-03-13", Decimal("0.25"), 120), Spent("2026-03-14", Decimal("0.75"), 360)),
        channels=(Spent(CHANNEL.key, Decimal("0.75"), 360), Spent(SLACK.key, Decimal("0.25"), 120)),
        models=(Spent("big", Decimal("0.75"), 360), Spent("small", Decimal("0.25"), 120)),
    )
    assert await sums(database, "2026-03-15") == SpendingSums()
    async with database.begin() as work:
        work.budgets.forget_days("2026-03-14")
        await work.commit()
    assert [day.name for day in (await sums(database, "2000-01-01")).days] == ["2026-03-14"]


async def test_a_step_adds_what_it_used_of_each_model_to_its_day(database: Database) -> None:
    agent = an_agent()
    await keep(database, agent)
    async with BudgetLedger(database, FakeClock()).open_tracker(agent) as tracker:
        tracker.record("chat", CALL, "big")
        tracker.record("summary", CALL, "small")
        tracker.record("embedding", Usage(prompt=7))
    found = await sums(database, "2000-01-01")
    assert {each.name: each.tokens for each in found.models} == {"big": 120, "small": 120, "embedding": 7}
    assert [each.cost for each in found.days] == [Decimal("0.5")]


async def test_what_a_process_that_ended_had_reserved_is_in_its_day(database: Database) -> None:
    agent = replace(an_agent(), budget=Budget(limit=Decimal(9)))
    await keep(database, agent)
    clock = FakeClock()
    dead, heir = BudgetLedger(database, clock), BudgetLedger(database, clock)
    async with database.begin() as work:
        tracker = dead.tracker(Account.of(agent), agent.budget, await work.budgets.of(agent.channel))
    async with tracker.reserve(Decimal(2), "big", "chat"):
        await heir.charge_left(dead.worker)
    assert (await sums(database, "2000-01-01")).models == (Spent("big", Decimal(2), 0),)


async def test_two_that_spend_at_once_wait_for_each_other_and_nothing_is_lost(database: Database) -> None:
    async def once(*models: str) -> None:
        await spend(database, *((CHANNEL, NOON, model, CALL) for model in models))

    await asyncio.gather(*(once("a", "b") for _ in range(10)), *(once("b", "a") for _ in range(10)))
    assert [each.tokens for each in (await sums(database, "2000-01-01")).models] == [2_400, 2_400]


async def test_stuck_agents_are_those_that_nothing_but_signoff_holds_up(database: Database) -> None:
    await keep(database, *agents_in(STATES, NOON))
    async with database.begin() as work:
        found = await work.agents.list_stuck(NOON + timedelta(hours=1), 10)
        assert [agent.name for agent in found] == ["thinks", "held", "acts"]
        assert [agent.name for agent in await work.agents.list_stuck(NOON + timedelta(hours=1), 1)] == ["thinks"]
        assert await work.agents.list_stuck(NOON, 10) == ()


async def test_agents_of_a_status_are_listed_by_how_long_they_have_it(database: Database) -> None:
    waiting = agents_in(dict.fromkeys(("first", "second", "third"), Awaiting()), NOON)
    archived = an_agent(id=AgentId("old"), name="old", status=Awaiting(), archived_at=NOON)
    await keep(database, *waiting, archived)
    async with database.begin() as work:
        assert await work.agents.list_longest("awaiting", 2) == tuple(waiting[:2])
        assert await work.agents.list_newest("awaiting", 2) == tuple(waiting[:0:-1])
        assert await work.agents.list_by_id([AgentId("third")]) == (waiting[2],)
