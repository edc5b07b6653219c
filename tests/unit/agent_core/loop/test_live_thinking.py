"""A long thought: people see for how long the model thinks and what it writes, and Stop ends and bills it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from adapters.screens.cards import status_text
from agent_core.loop.live_progress import THINKING_SECONDS, activity
from agent_core.model.agent import Agent, Awaiting, Stopped
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.turn import Turn
from agent_core.oversight.secrets import Secrets
from agent_core.ports.models import CallOptions, ModelProgress
from agent_core.testing.examples import BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.patience import PATIENCE_SECONDS

WRITING = '{"command": {"name": "write_to_file", "args": {"filename": "report.md", "text": "Lo'
MUSED, CALLED = '<think>I must never write {"name": "delete_file"', '<think>Hm.</think>{"name": "read_file"'
DONE = reply_text("do_nothing")


class StreamingModel(ScriptedModel):
    """Waits for its replies, and a test may report parts of them."""

    def price(self, usage: Usage, model: str) -> Decimal:
        return Decimal(usage.completion) / 1_000_000

    def __init__(self, *replies: str, **facts: Any) -> None:
        super().__init__(*replies, **facts)
        self.asked, self.ended = asyncio.Event(), asyncio.Event()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.asked.set()
        try:
            return await super().complete(messages, options)
        finally:
            self.ended.set()

    def write(self, text: str, *, is_reasoning: bool = False) -> None:
        report = self.options[-1].report
        assert report
        written = "" if is_reasoning else text
        report(ModelProgress(characters=len(text), written=lambda: written, is_reasoning=is_reasoning))


def shows(agent_id: AgentId, text: str, surface: RecordingSurface) -> bool:
    return agent_id in surface.agents and status_text(surface.agents[agent_id]) == text


@pytest.mark.parametrize(
    ("seconds", "progress", "text"),
    [
        (7.4, None, "for 7 s"),
        (75, ModelProgress(characters=0), "for 1 min 15 s"),
        (12, ModelProgress(characters=3_357, is_reasoning=True), "for 12 s · about 1,120 tokens"),
        (12, ModelProgress(characters=8, written=lambda: '{"thoug'), "for 12 s · about 3 tokens · writing"),
        (5, ModelProgress(characters=100, written=lambda: MUSED), "for 5 s · about 34 tokens"),
        (5, ModelProgress(characters=100, written=lambda: CALLED), "for 5 s · about 34 tokens · writing read_file"),
        (
            12,
            ModelProgress(characters=99, written=lambda: WRITING),
            "for 12 s · about 34 tokens · writing write_to_file report.md",
        ),
        (
            5,
            ModelProgress(characters=4, written=lambda: '{"name": "x", "filename": "a\u202eb"'),
            "for 5 s · about 2 tokens · writing x",
        ),
    ],
)
def test_an_activity_is_told_in_a_few_words(seconds: float, progress: ModelProgress | None, text: str) -> None:
    assert activity(seconds, progress) == text


async def test_a_long_thought_is_told_every_few_seconds_and_not_after_the_proposal() -> None:
    model = StreamingModel(waits=True)
    stage = Stage(model=model)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    async with stage.run(), asyncio.timeout(PATIENCE_SECONDS):
        await model.asked.wait()
        for reasoning, text in (
            (True, "thinking for 5 s · about 28 tokens"),
            (False, "thinking for 10 s · about 28 tokens · writing write_to_file report.md"),
        ):
            model.write(WRITING, is_reasoning=reasoning)
            await stage.fake_clock.until_sleeping(2)  # the sweep and the line
            stage.fake_clock.advance(THINKING_SECONDS)
            await stage.shown.until(partial(shows, agent.id, text))
        model.say(DONE)
        await stage.shown.until(partial(shows, agent.id, "needs approval"))
    assert (await stage.views.agent(agent.channel, agent.id)).status == Awaiting()


async def test_stop_ends_a_thought_at_once_and_bills_what_was_received() -> None:
    model = StreamingModel(waits=True)
    stage = Stage(model=model)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    async with stage.run(), asyncio.timeout(PATIENCE_SECONDS):
        await model.asked.wait()
        model.write("word " * 600)
        await stage.service.lifecycle.stop(agent.id, stage.origin(BEN))
        await model.ended.wait()
    stopped = await stage.views.agent(agent.channel, agent.id)
    assert stopped.status == Stopped(BEN)
    assert (stopped.usage.completion, stopped.budget.spent) == (1_001, Decimal("0.001001"))


class HoldingSurface(RecordingSurface):
    """Never comes to the end of showing a card."""

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        await super().show(agent, turn, may_exist=may_exist)
        return await asyncio.Future()


async def cancel(step: asyncio.Task[None]) -> None:
    step.cancel()
    await asyncio.wait([step])


async def test_a_thought_that_is_saved_is_billed_once_when_stop_comes_while_its_card_is_shown() -> None:
    stage = Stage(model=StreamingModel(DONE), surface=HoldingSurface())
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    step = asyncio.create_task(stage.loop.advance(agent.id))
    await stage.shown.until(lambda shown: bool(shown.cards))
    saved = await stage.views.agent(agent.channel, agent.id)
    await cancel(step)
    assert (await stage.views.agent(agent.channel, agent.id)).budget.spent == saved.budget.spent > 0


async def test_the_thought_of_a_deleted_agent_is_billed_to_its_channel() -> None:
    model = StreamingModel(waits=True)
    stage = Stage(model=model)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    step = asyncio.create_task(stage.loop.advance(agent.id))
    await model.asked.wait()
    model.write("word " * 600)
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    await cancel(step)
    async with stage.database.begin() as work:
        assert (await work.budgets.of(agent.channel)).spent == Decimal("0.001001")


async def test_the_line_holds_no_part_of_a_secret() -> None:
    model, secret = StreamingModel(waits=True), "sk-" + "a1b2" * 20
    stage = Stage(model=model)
    redacting = replace(stage.metered_model, secrets=Secrets.of([secret]))
    stage.loop = replace(stage.loop, proposer=replace(stage.loop.proposer, metered_model=redacting))
    agent = await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Write",)), stage.origin())
    async with stage.run(), asyncio.timeout(PATIENCE_SECONDS):
        await model.asked.wait()
        model.write('{"name": "write_to_file", "filename": "' + secret + '"')
        await stage.fake_clock.until_sleeping(2)
        stage.fake_clock.advance(THINKING_SECONDS)
        await stage.shown.until(lambda shown: "writing" in status_text(shown.agents[agent.id]))
    assert "a1b2" not in status_text(stage.shown.agents[agent.id])
