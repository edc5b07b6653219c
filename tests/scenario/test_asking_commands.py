"""What Approve ×N lets run and what asks all the same, said where N is chosen, on every surface."""

import json
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.discord_app import parts_of
from tests.scenario.member import GuildCard, GuildChat, pressed
from tests.scenario.page import PageChat, text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackCard
from tests.scenario.terminal_driver import DeskChat

COVERED = "reads, changes to its own files"
ASKED = "deletions, web pages, programs, posts, paid calls, plugins and servers, finishing"


async def sheet(scene: Scene) -> str:
    """What is read where N is chosen."""
    ana = scene.ana
    card = await ana.asks("write_to_file")
    if isinstance(ana, PageChat):
        return text_of(await ana.page())
    if isinstance(card, SlackCard):
        return json.dumps(card.message["blocks"])
    if isinstance(ana, GuildChat) and isinstance(card, GuildCard):
        opened = await pressed(ana.person, card.message, "Another number…")
        options = [each for part in parts_of(card.message) for each in part.get("options") or ()]
        told = {each["label"]: each.get("description") for each in options}
        assert (told["Approve ×3"], told["Another number…"]) == (f"Without asking: {COVERED}", f"Not: {ASKED}")
        return str(opened.modal)
    assert isinstance(ana, DeskChat)
    ana.type("?")
    await ana.sees("in total")
    return " ".join(ana.output.replace("│", " ").replace("┊", " ").split())


@pytest.mark.proves("lease:asks")
@pytest.mark.parametrize("surface", ["web", "terminal", "slack-http", "discord"])
async def test_what_the_next_steps_may_do_is_said_in_words_where_n_is_chosen(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(writing("a.md", "a")), tmp_path) as scene:
        await scene.ana.new_agent("Clerk", "keeps notes", "Write notes")
        said = await sheet(scene)
        assert (COVERED in said, ASKED in said) == (True, True)
