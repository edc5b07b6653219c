"""A thread on each surface while its model is away: who answers, and that it is said once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_core.capabilities.models.fallback_model import FallbackModel
from agent_core.errors import ModelUnavailable
from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import Scripted, ScriptedModel
from tests.scenario.chat import adding, writing
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface

OUTAGE_SECONDS = 61


class SilentModel(ScriptedModel):
    """Lets a minute of the fake clock pass before it answers or fails."""

    def __init__(self, clock: FakeClock, *replies: Scripted) -> None:
        super().__init__(*replies, label="large · one.test", default_model="large", waits=True)
        self.clock = clock

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.clock.advance(OUTAGE_SECONDS)
        return await super().complete(messages, options)


@pytest.mark.slow
@pytest.mark.proves("fallback:once")
@on_each_surface()
async def test_a_thread_is_told_who_answers_while_its_model_is_away(surface: Name, tmp_path: Path) -> None:
    clock = FakeClock()
    first = SilentModel(clock, ModelUnavailable("busy"), adding("notes.md", "three\n"))
    second = ScriptedModel(
        writing("notes.md", "one\n"), adding("notes.md", "two\n"), label="small · two.test", waits=True
    )
    async with opened(surface, FallbackModel(first=first, second=second, clock=clock), tmp_path) as scene:
        await scene.ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await scene.ana.asks("write_to_file")
        begins = "large · one.test has not answered for a minute, so small · two.test answers until it does."
        assert await scene.ana.sees(begins)
        await card.press("Approve")
        card = await scene.ana.asks("append_to_file")
        clock.advance(5 * OUTAGE_SECONDS)
        await card.press("Approve")
        assert await scene.ana.sees("large · one.test answers again.")
        agent = await scene.agent()
        assert (agent.fallback, second.left, first.left) == ("", 0, 0)
