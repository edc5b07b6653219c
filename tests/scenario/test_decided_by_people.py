"""What decides and what does not: words, permissions for the next commands, notes, and files that come back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import adding, writing
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.test_signed_off import WAIT, approved, clerk, noted, on_each_surface
from tests.scenario.test_tool_server_story import serving
from tests.scenario.tools import ModelOfEach, Tools

DELETE = reply_text("delete_file", {"filename": "notes.md"}, text="I tidy up.")
DONE = reply_text("task_complete", {"reason": "All is noted."}, text="I am through.")


async def is_open(scene: Scene) -> bool:
    turn = await scene.stage.views.newest_turn(scene.channel, (await scene.agent()).id)
    assert turn
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
            assert await ana.told("Nothing is decided: turn 1, write_to_file, waits.")
        assert await is_open(scene)
        await card.press("Approve")
        await ana.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.proves("lease:covers")
@on_each_surface()
async def test_approve_the_next_five_on_an_append_asks_before_a_deletion_and_the_end(
    surface: Name, tmp_path: Path
) -> None:
    model = ScriptedModel(adding("notes.md", "one\n"), adding("notes.md", "two\n"), DELETE, DONE)
    async with opened(surface, model, tmp_path) as scene:
        ana = await clerk(scene)
        await (await ana.asks("append_to_file")).press("Approve ×5")
        card = await ana.asks("delete_file")
        assert await ana.file("notes.md") == "one\ntwo\n"
        await card.press("Approve")
        await ana.asks("task_complete")
        assert await is_open(scene)


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
        assert "has read untrusted content" in card.text


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


class SlowScout(ModelOfEach):
    """The Scout's last reply is kept back until `heard` is set."""

    def __init__(self, **replies: tuple[str, ...]) -> None:
        super().__init__(**replies)
        self.heard = asyncio.Event()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        if "You are Scout:" in messages[0].content and len(self.by_name["Scout"]) == 1:
            await self.heard.wait()
        return await super().complete(messages, options)


@pytest.mark.proves("lease:note")
@on_each_surface("guests")
async def test_a_note_to_an_agent_pauses_what_its_helper_runs_without_asking(surface: Name, tmp_path: Path) -> None:
    start = reply_text("start_agent", {"name": "Scout", "task": "Find prices", "prompt": ""})
    model = SlowScout(Clerk=(start, WAIT, WAIT), Scout=(adding("notes.md", "one\n"), adding("notes.md", "two\n")))
    async with opened(surface, model, tmp_path, Tools().register) as scene:
        ana = await clerk(scene)
        await approved(ana, "start_agent")
        for _ in range(2):
            card = await ana.asks("do_nothing", "append_to_file")
            await card.press("Approve ×5" if card.command == "append_to_file" else "Approve")
        await (await scene.join("ben", "member")).says("Those are the wrong files")
        await noted(scene, "Those are the wrong files")
        model.heard.set()
        await ana.asks("append_to_file")
        assert await ana.file("notes.md") == "one\n"


@pytest.mark.slow
@pytest.mark.proves("trash:restored")
@on_each_surface("lines")
async def test_a_deleted_file_is_said_to_be_kept_and_comes_back_by_a_line(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(writing("notes.md", "one\n"), DELETE, WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        await (await ana.asks("write_to_file")).press("Approve")
        card = await ana.asks("delete_file")
        assert "kept in the trash for 30 days" in " ".join(card.text.replace("│", "").split())
        await card.press("Approve")
        await ana.asks("do_nothing")
        await ana.says("!files restore notes.md")
        assert await ana.file("notes.md") == "one\n"
