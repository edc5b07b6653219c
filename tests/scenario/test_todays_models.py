"""Models of today: room for reasoning, what is seen of a long thought, ways of asking, Claude. On every surface."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.models.prices import Prices
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.models import CallOptions, ModelProgress
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.terminal_driver import DeskChat
from tests.scenario.test_signed_off import on_each_surface
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import OpenAIStandIn, Says, openai_standin

WRITES = writing("report.md", "All is well.\n")
DONE = reply_text("task_complete", {"reason": "The report is written."})
REASONED = Usage(prompt=100, cached=60, completion=6_000, reasoning=6_000)
NO_ROOM = Reply(text="", usage=REASONED, finish_reason="length", reasoning=f"Hm. {DONE} " + "Hm. " * 50)


class StreamingModel(ScriptedModel):
    """Streams a part of its reply and then waits."""

    def __init__(self, *replies: str, **facts: Any) -> None:
        super().__init__(*replies, waits=True, **facts)
        self.ended = asyncio.Event()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        assert options.report
        options.report(ModelProgress(characters=400, written=lambda: WRITES[: WRITES.index("All is")]))
        try:
            return await super().complete(messages, options)
        finally:
            self.ended.set()


async def clerk(scene: Scene) -> None:
    await scene.ana.new_agent("Clerk", "keeps notes", "Write a report")


async def finish(scene: Scene) -> None:
    """Approve the file and the end."""
    await (await scene.ana.asks("write_to_file")).press("Approve")
    await (await scene.ana.asks("task_complete")).press("Approve")
    assert await scene.ana.sees("Clerk is done: “The report is written.”")
    assert await scene.ana.file("report.md") == "All is well.\n"


@pytest.mark.proves("models:room")
@on_each_surface()
async def test_a_model_whose_reasoning_took_all_the_room_is_given_more_and_no_lecture(
    surface: Name, tmp_path: Path
) -> None:
    model = ScriptedModel(NO_ROOM, Reply(text=WRITES, usage=replace(REASONED, completion=6_300)), DONE)
    async with opened(surface, model, tmp_path) as scene:
        await clerk(scene)
        await scene.ana.asks("write_to_file")
        first, second = model.options
        assert second.max_tokens == 2 * first.max_tokens
        assert model.prompts[0] == model.prompts[1]
        await scene.ana.says("!budget")
        assert await scene.ana.told("12,000 for reasoning")


def showing_reasoning(stage: Stage) -> None:
    """The operator has set SHOW_REASONING."""
    object.__setattr__(stage.loop.proposer, "shows_reasoning", True)


@pytest.mark.proves("models:reasoning")
@on_each_surface()
async def test_reasoning_is_shown_behind_thoughts_and_a_command_in_it_never_runs(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(Reply(text=WRITES, usage=REASONED, reasoning=f"I could end at once: {DONE}"), DONE)
    async with opened(surface, model, tmp_path, showing_reasoning) as scene:
        await clerk(scene)
        card = await scene.ana.asks("write_to_file")
        assert "I could end at once" in await card.thoughts()
        await card.press("Approve")
        await scene.ana.asks("task_complete")
        assert "I could end at once" not in str(model.prompts[1])


@asynccontextmanager
async def time_passing(scene: Scene) -> AsyncIterator[None]:
    """Move a fake clock whenever somebody sleeps; a real clock moves by itself."""
    clock = scene.stage.clock

    async def move() -> None:
        assert isinstance(clock, FakeClock)
        while True:
            await asyncio.create_task(clock.until_sleeping())  # a task, so that others get their turn
            clock.advance(1)

    moving = asyncio.create_task(move()) if isinstance(clock, FakeClock) else None
    try:
        yield
    finally:
        if moving:
            moving.cancel()


@pytest.mark.proves("models:streaming")
@on_each_surface(slow=("web",))
async def test_a_long_thought_is_seen_and_stop_ends_it_at_once(surface: Name, tmp_path: Path) -> None:
    model = StreamingModel()
    async with opened(surface, model, tmp_path) as scene:
        if isinstance(scene.ana, DeskChat):
            scene.ana.is_live = True
        await clerk(scene)
        async with time_passing(scene):
            assert await scene.ana.sees_status("writing write_to_file report.md")
        await scene.ana.stops()
        async with asyncio.timeout(20):
            await model.ended.wait()
        assert await scene.ana.sees("topped by")  # or "Stopped by"
        assert (await scene.agent()).usage.completion > 100


@asynccontextmanager
async def an_endpoint(**facts: Any) -> AsyncIterator[tuple[OpenAIStandIn, OpenAIModel]]:
    """A model behind OpenAI's SDK."""
    async with openai_standin() as standin:
        for name, value in facts.items():
            setattr(standin, name, value)
        model = OpenAIModel(base_url=standin.base_url, prices=Prices.at(standin.base_url, {}))
        try:
            yield standin, model
        finally:
            await model.close()


@pytest.mark.proves("models:ways")
@on_each_surface()
async def test_an_endpoint_that_ignores_the_schema_is_asked_by_a_tool_call(surface: Name, tmp_path: Path) -> None:
    async with an_endpoint() as (standin, model), opened(surface, model, tmp_path) as scene:
        standin.answers(Says("I would write the report."), Says(WRITES), Says(DONE))
        await clerk(scene)
        await finish(scene)
        assert ["tools" in body for body in standin.completions] == [False, True, True]


@pytest.mark.proves("models:claude")
@on_each_surface()
async def test_claude_writes_the_report_and_reads_its_prompt_from_the_cache(surface: Name, tmp_path: Path) -> None:
    async with anthropic_standin() as standin:
        model = ClaudeModel(base_url=standin.base_url, prices=Prices.at(standin.base_url, {}))
        async with opened(surface, model, tmp_path) as scene:
            standin.answers(Says(WRITES, reasoning="Let me see."), Says(DONE))
            await clerk(scene)
            await (await scene.ana.asks("write_to_file")).press("Approve")
            await scene.ana.asks("task_complete")
            await scene.ana.says("!budget")
            assert await scene.ana.told("saved to the cache")
        await model.close()
    assert [body["tool_choice"]["type"] for body in standin.messages] == ["tool", "tool"]
