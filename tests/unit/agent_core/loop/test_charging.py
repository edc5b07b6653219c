"""Who pays for calls whose worker lost its agent or ended."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import FREE, Budget, Message, Reply, Usage
from agent_core.model.origin import ThreadRef
from agent_core.model.records.reservation import Account
from agent_core.ports.models import CallOptions
from agent_core.testing.examples import CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

DONE = reply_text("do_nothing")
LONGEST = 4_000  # tokens: a fourth of the window of the scripted model
ESTIMATE = LONGEST * Decimal("0.0001")


class PricedModel(ScriptedModel):
    """Takes 0.01 cents for each token that it writes."""

    def __init__(self, *replies: str, waits: bool = False) -> None:
        super().__init__(*replies, waits=waits)
        self.asked = asyncio.Event()

    def price(self, usage: Usage, model: str) -> Decimal:
        return usage.completion * Decimal("0.0001")

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.asked.set()
        return await super().complete(messages, options)


async def begin(stage: Stage, model: PricedModel, *, by_helper: bool = False) -> tuple[Agent, asyncio.Task[None]]:
    """Let an agent, or a helper of it, ask the model; return who asks, and its step."""
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    if by_helper:
        thread = ThreadRef(CHANNEL, "thread")
        helper = an_agent(id="agent-helper", name="Helper", head=agent.id, parent=agent.id, thread=thread)
        await keep(stage.database, helper)
        await stage.loop.pause(agent.id, "Later.")
        agent = helper
    step = asyncio.create_task(stage.loop.advance(agent.id))
    await model.asked.wait()
    return agent, step


async def take_over(stage: Stage, agent: Agent) -> None:
    """Another worker takes the agent."""
    async with stage.database.begin() as work:
        present = await work.agents.locate(agent.id)
        work.agents.save(replace(present, fence=present.fence + 1))
        await work.commit()


async def budgets(stage: Stage) -> list[Budget]:
    """The spending of the channel and of its agents. Nothing is reserved any more."""
    async with stage.database.begin() as work:
        assert (await work.reservations.funds(Account(channel=CHANNEL))).reserved_of_channel == FREE
        agents = await work.agents.of(CHANNEL)
        return [await work.budgets.of(CHANNEL), *(agent.budget for agent in agents)]


@pytest.mark.proves("budget:killed")
@pytest.mark.parametrize("by_helper", [False, True])
async def test_a_reply_that_comes_after_another_worker_took_the_agent_is_charged_to_the_agent(by_helper: bool) -> None:
    model = PricedModel(waits=True)
    stage = Stage(model=model)
    agent, step = await begin(stage, model, by_helper=by_helper)
    await take_over(stage, agent)
    model.say(DONE)
    await step
    assert (await stage.views.agent(CHANNEL, agent.id)).turns == 0
    found = await budgets(stage)
    assert found == [found[0]] * (3 if by_helper else 2)
    assert FREE < found[0].spent < ESTIMATE
    assert found[0].estimated == FREE


@pytest.mark.proves("budget:killed")
async def test_a_late_reply_is_not_charged_again_after_the_call_was_charged_as_an_estimate() -> None:
    model = PricedModel(waits=True)
    stage = Stage(model=model)
    agent, step = await begin(stage, model)
    await Stage(database=stage.database).ledger.charge_left(stage.ledger.worker)
    model.say(DONE)
    await step
    assert await budgets(stage) == [Budget(spent=ESTIMATE, estimated=ESTIMATE)] * 2
    assert (await stage.views.agent(CHANNEL, agent.id)).turns == 1


@pytest.mark.proves("budget:killed")
async def test_a_call_that_was_killed_is_charged_as_an_estimate_and_the_next_one_by_its_price() -> None:
    killed = PricedModel(waits=True)
    first = Stage(model=killed)
    agent, step = await begin(first, killed)
    second = Stage(model=PricedModel(DONE), database=first.database)
    await second.ledger.charge_left_by_others()
    await second.ledger.charge_left_by_others()
    assert await budgets(second) == [Budget(spent=ESTIMATE, estimated=ESTIMATE)] * 2
    await second.loop.advance(agent.id)
    channel, own = await budgets(second)
    assert channel == own
    assert (own.estimated, own.spent > ESTIMATE) == (ESTIMATE, True)
    step.cancel()
    await asyncio.wait([step])
    assert await budgets(second) == [channel, own]
