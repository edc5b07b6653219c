"""A model that is away and its fallback, through the real SDKs of OpenAI and Anthropic over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest

from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.fallback_model import AWAY, FallbackModel
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.models.prices import Prices
from agent_core.model.agent import Agent, Awaiting, Paused, Thinking
from agent_core.model.decision import Approve
from agent_core.testing.clock import FakeClock
from agent_core.testing.stage import Stage
from tests.scenario.chat import adding, writing
from tests.standins.anthropic import AnthropicStandIn, anthropic_standin
from tests.standins.openai import Fails, OpenAIStandIn, Says, openai_standin

BUSY = Fails(503, "Overloaded.", headers={"Retry-After": "3600"})
DEAR, CHEAP = {"gpt-test": (Decimal(1_000), Decimal(1_000))}, {"claude-sonnet-5-5": (Decimal(100), Decimal(100))}


@asynccontextmanager
async def both() -> AsyncIterator[tuple[Stage, OpenAIStandIn, AnthropicStandIn]]:
    """A stage whose model is at OpenAI's stand-in, with a fallback at Anthropic's that costs a tenth."""
    clock = FakeClock()
    async with openai_standin() as one, anthropic_standin() as two:
        first = OpenAIModel(base_url=one.base_url, model="gpt-test", prices=Prices(DEAR), clock=clock)
        second = ClaudeModel(base_url=two.base_url, prices=Prices(CHEAP), clock=clock)
        model = FallbackModel(first=first, second=second, clock=clock)
        await model.prepare()
        yield Stage(model=model, clock=clock), one, two
        await model.close()


async def wait_out(stage: Stage, agent: Agent, seconds: float = AWAY.total_seconds()) -> Agent:
    """Let a minute pass, or so many seconds, with the longest jitter of a retry."""
    stage.fake_clock.advance(seconds * 1.25)
    return await stage.wait_until_settled(agent)


def told(stage: Stage) -> list[str]:
    return [notice.text for notice in stage.shown.notices if "answer" in notice.text]


@pytest.mark.slow
@pytest.mark.proves("fallback:minute")
@pytest.mark.proves("fallback:back")
async def test_claude_answers_while_openai_is_away_and_no_longer() -> None:
    async with both() as (stage, one, two):
        one.answers(BUSY, BUSY, Says(adding("a.txt", "two\n")))
        two.answers(Says(writing("a.txt", "one\n")))
        agent = await stage.create()
        assert isinstance(agent.status, Thinking)
        agent = await wait_out(stage, agent)
        assert (agent.status, len(one.completions), len(two.messages)) == (Awaiting(), 2, 1)
        names = [
            f"{model} · {at.base_url.split('/')[2]}" for model, at in (("gpt-test", one), ("claude-sonnet-5-5", two))
        ]
        begins = f"{names[0]} has not answered for a minute, so {names[1]} answers until it does."
        assert told(stage) == [begins]
        cost = agent.budget.spent
        assert cost == agent.usage.prompt * Decimal("0.0001") + agent.usage.completion * Decimal("0.0001")
        await stage.decide(agent, Approve())
        agent = await wait_out(stage, agent, 3_600)
        assert (agent.status, len(one.completions), len(two.messages)) == (Awaiting(), 3, 1)
        assert told(stage) == [begins, f"{names[0]} answers again."]
        assert agent.budget.spent - cost == Decimal("0.018")


@pytest.mark.proves("fallback:refused")
@pytest.mark.slow
async def test_a_key_that_openai_refuses_is_not_hidden_by_the_fallback() -> None:
    async with both() as (stage, one, two):
        one.answers(Fails(401, "Incorrect API key provided."))
        agent = await stage.create()
        assert isinstance(agent.status, Paused)
        assert two.messages == []
