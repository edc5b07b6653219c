"""Agents while their model is away: what the thread is told, what a restart changes, and what the budget pays."""

from decimal import Decimal
from typing import Any

import pytest

from agent_core.capabilities.models.fallback_model import AWAY, FallbackModel
from agent_core.errors import ModelUnavailable
from agent_core.model.agent import Agent, Awaiting, Paused, Thinking
from agent_core.model.decision import Approve
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import Scripted, ScriptedModel, reply_text
from agent_core.testing.stage import Stage

BUSY = ModelUnavailable("one.test answered 503: busy")
WRITES = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
ADDS, MORE = (reply_text("append_to_file", {"filename": "a.txt", "text": text}) for text in ("two\n", "three\n"))
BEGINS = "large · one.test has not answered for a minute, so small · two.test answers until it does."
ENDS = "large · one.test answers again."


def first_model(*replies: Scripted, **facts: Any) -> ScriptedModel:
    return ScriptedModel(*replies, label="large · one.test", default_model="large", **facts)


def second_model(*replies: Scripted, **facts: Any) -> ScriptedModel:
    return ScriptedModel(*replies, label="small · two.test", default_model="small", **facts)


def stage_of(first: ScriptedModel, second: ScriptedModel, before: Stage | None = None) -> Stage:
    """A stage over both models; with `before`, as after a restart of its process."""
    clock = before.fake_clock if before else FakeClock()
    kept = {"database": before.database, "surface": before.surface, "workspaces": before.workspaces} if before else {}
    return Stage(model=FallbackModel(first=first, second=second, clock=clock), clock=clock, **kept)  # type: ignore[arg-type]


async def wait_out(stage: Stage, agent: Agent) -> Agent:
    """Let a minute pass, with the agent's retry at its end."""
    stage.fake_clock.advance(AWAY.total_seconds())
    return await stage.wait_until_settled(agent)


async def approve(stage: Stage, agent: Agent) -> Agent:
    await stage.decide(agent, Approve(1))
    return await stage.wait_until_settled(agent)


def said(stage: Stage) -> list[str]:
    return [notice.text for notice in stage.shown.notices if notice.kind == "waiting"]


@pytest.mark.slow
@pytest.mark.proves("fallback:once")
async def test_the_thread_is_told_once_that_the_fallback_answers_and_once_that_the_first_does() -> None:
    first, second = first_model(BUSY, BUSY), second_model(WRITES, ADDS)
    stage = stage_of(first, second)
    agent = await stage.create()
    why = f"{BUSY}. If this lasts for a minute, small · two.test answers."
    assert agent.status == Thinking(held_up=why, tries=1, held_since=agent.since)
    assert said(stage) == []
    agent = await wait_out(stage, agent)
    assert (agent.status, agent.fallback, said(stage)) == (Awaiting(), "small · two.test", [BEGINS])
    agent = await approve(stage, agent)
    assert (agent.status, said(stage)) == (Awaiting(), [BEGINS])
    first.say(MORE, reply_text("read_file", {"filename": "a.txt"}))
    stage.fake_clock.advance(AWAY.total_seconds())
    agent = await approve(stage, agent)
    agent = await approve(stage, agent)
    assert (agent.fallback, said(stage), agent.turns) == ("", [BEGINS, ENDS], 4)


@pytest.mark.proves("fallback:once")
async def test_a_restart_during_the_outage_says_nothing_again() -> None:
    before = stage_of(first_model(BUSY, BUSY), second_model(WRITES))
    agent = await wait_out(before, await before.create())
    after = stage_of(first_model(BUSY, BUSY), second_model(ADDS), before)
    await approve(after, agent)
    agent = await wait_out(after, agent)
    assert (agent.turns, said(after)) == (2, [BEGINS])
    last = stage_of(first_model(MORE), second_model(), before)
    await approve(last, agent)
    assert said(last) == [BEGINS, ENDS]


async def test_the_thread_is_told_that_the_fallback_answers_also_if_no_reply_of_it_can_be_used() -> None:
    stage = stage_of(first_model(BUSY, BUSY), second_model(*["Hello."] * 9))
    agent = await wait_out(stage, await stage.create())
    assert isinstance(agent.status, Paused)
    assert (agent.fallback, said(stage)) == ("small · two.test", [BEGINS])


async def test_an_agent_with_a_model_of_its_own_names_that() -> None:
    stage = stage_of(first_model(BUSY, BUSY), second_model(WRITES))
    await wait_out(stage, await stage.create(model="huge"))
    assert said(stage) == ["huge has not answered for a minute, so small · two.test answers until it does."]


async def test_the_reply_of_the_fallback_is_paid_at_its_price() -> None:
    first, second = first_model(BUSY, BUSY, cost=Decimal("0.5")), second_model(WRITES, cost=Decimal("0.01"))
    stage = stage_of(first, second)
    agent = await wait_out(stage, await stage.create())
    assert agent.budget.spent == Decimal("0.01")
    first.say(ADDS)
    stage.fake_clock.advance(AWAY.total_seconds())
    assert (await approve(stage, agent)).budget.spent == Decimal("0.51")


@pytest.mark.proves("budget:stop")
@pytest.mark.parametrize(
    ("price", "why"), [(Decimal("0.6"), "budget is reached"), (None, "No price is known for large")]
)
async def test_a_call_of_the_fallback_beyond_the_budget_is_not_made(price: Decimal | None, why: str) -> None:
    second = second_model(WRITES, cost=price)
    stage = stage_of(first_model(BUSY, BUSY, cost=Decimal("0.1")), second)
    agent = await wait_out(stage, await stage.create(budget=Decimal("0.5")))
    assert isinstance(agent.status, Paused)
    assert why in agent.status.reason
    assert second.prompts == []
