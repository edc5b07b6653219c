"""What plugins add is listed and switched in the thread, on every surface; the card names the plugin."""

import asyncio
from pathlib import Path

import pytest

from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.patience import PATIENCE_SECONDS
from tests.plugins import add_plugins, two_plugins
from tests.scenario.chat import writing
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.test_signed_off import on_each_surface

COUNT = reply_text("count_words", {"filename": "tea.txt"})
DONE = reply_text("task_complete", {"reason": "Counted."})


async def withdrawn(scene: Scene) -> None:
    """Wait until the open proposal of the agent says that its tool is off."""
    agent = await scene.agent()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (turn := await scene.stage.views.newest_turn(agent.channel, agent.id)) or not turn.remark:
            await SystemClock().sleep(0.01)


@pytest.mark.slow
@pytest.mark.proves("plugin:shown")
@pytest.mark.proves("plugin:switched")
@on_each_surface()
async def test_a_tool_is_listed_switched_off_under_an_open_card_and_on_again(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(writing("tea.txt", "black tea"), COUNT, COUNT, DONE)
    async with opened(surface, model, tmp_path, lambda stage: add_plugins(stage, two_plugins())) as scene:
        ana = scene.ana
        await ana.new_agent("Clerk", "counts", "Count the words of tea.txt")
        await (await ana.asks("write_to_file")).press("Approve")
        card = await ana.asks("count_words")
        assert "command of word_counter" in card.text
        await ana.says("!tools")
        assert await ana.told("word_counter 1.0 (plugin, file word_counter.py): on")
        await ana.says("!tools off count_words")
        assert await ana.told("count_words (read, off here)")
        if surface == "terminal":  # it writes nothing under a person's hands: the new card comes with the next line
            await withdrawn(scene)
            await ana.says("?")
        again = await ana.asks("count_words")
        assert await ana.sees("approving this does not run it.")
        await again.press("Approve")
        assert await ana.sees("count_words is switched off in this channel")
        await ana.asks("task_complete")  # the second try was not offered to anybody
        await ana.says("!tools all on")
        assert await ana.told("count_words (read)", times=2)
    assert "is switched off in this channel" in str(model.prompts[-1])
