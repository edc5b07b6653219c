"""What decides and what does not: words, permissions for the next commands, notes, and files that come back."""

import asyncio
from pathlib import Path

import pytest

from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import adding, writing
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.test_signed_off import WAIT, clerk, noted, on_each_surface
from tests.scenario.test_tool_server_story import serving


async def is_open(scene: Scene) -> bool:
    turn = await scene.stage.turn(await scene.agent())
    return turn.is_open


async def is_shown(scene: Scene) -> None:
    """Wait until it is saved that the newest card is on the screen."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            turn = await scene.stage.views.newest_turn(scene.channel, (await scene.agent()).id)
            if turn and turn.shown_at:
                return
            await SystemClock().sleep(0.01)


@pytest.mark.slow
@pytest.mark.proves("reply:agrees")
@on_each_surface("words")
async def test_words_that_agree_decide_nothing_and_approve_does(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(writing("notes.md", "one\n"), WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        card = await ana.asks("write_to_file")
        await is_shown(scene)
        await ana.says("looks good to me, thanks!")
        if surface != "web":  # there it is a note, because the person chose that beside the box
            assert await ana.told("Saved as a note. Nothing is decided: turn 1 of Clerk still needs approval.")
        assert await is_open(scene)
        await card.press("Approve")
        await ana.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.proves("tool-server:approved")
@on_each_surface()
async def test_approve_the_next_five_on_a_foreign_tool_asks_again_after_it_answered(
    surface: Name, tmp_path: Path
) -> None:
    model = ScriptedModel(*(reply_text("helpful.echo", {"text": text}) for text in ("black", "red")))
    async with opened(surface, model, tmp_path) as scene, serving(scene, "helpful", tmp_path):
        ana = await clerk(scene)
        await (await ana.asks("helpful.echo")).press("Approve ×5")
        card = await ana.asks("helpful.echo")
        assert "red" in await card.whole()
        assert "read content from outside" in card.text


@pytest.mark.proves("lease:note")
@on_each_surface("guests")
async def test_a_note_of_a_teammate_pauses_what_runs_without_asking(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(adding("notes.md", "one\n"), waits=True)
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        await (await ana.asks("append_to_file")).press("Approve ×5")
        ben = await scene.join("ben", "member")
        await ben.says("Mention the tea")
        await noted(scene, "Mention the tea")
        model.say(adding("notes.md", "two\n"))
        await ana.asks("append_to_file")
        assert await ana.file("notes.md") == "one\n"
