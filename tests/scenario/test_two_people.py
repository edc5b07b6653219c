"""Two people approve what the policy says: one alone runs nothing, on every surface where two people are."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import WAIT, clerk, on_each_surface


@pytest.mark.proves("two:people")
@on_each_surface("two people", slow=("web",))
async def test_a_command_runs_once_a_second_person_approved_it(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(WAIT, writing("notes.md", "one\n"), WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        waiting = await ana.asks("do_nothing")
        await ana.says("!policy two write")
        assert await ana.sees("@ana set the policy: two people approve: write.")
        await scene.change_file("notes.md", "old\n")
        await waiting.press("Approve")
        card = await ana.asks("write_to_file")
        assert "needs approval by two people" in " ".join(card.text.split())
        ben = await scene.join("ben", "member")
        shown = await ben.asks("write_to_file")
        await card.press("Approve")
        assert await ana.sees("1 of 2 · approved by @ana")
        assert await ana.file("notes.md") == "old\n"
        await shown.press("Approve")
        await ana.asks("do_nothing")
        assert await ana.file("notes.md") == "one\n"
        assert await ana.sees("@ana and @ben")


@pytest.mark.proves("two:people")
@on_each_surface("two people", slow=("web",))
async def test_one_person_cannot_be_both_and_an_edit_starts_again(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(WAIT, writing("notes.md", "one\n"), WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        waiting = await ana.asks("do_nothing")
        await ana.says("!policy two write")
        assert await ana.sees("@ana set the policy: two people approve: write.")
        await waiting.press("Approve")
        card = await ana.asks("write_to_file")
        ben = await scene.join("ben", "member")
        shown = await ben.asks("write_to_file")
        await card.press("Approve")
        assert await ana.sees("1 of 2 · approved by @ana")
        await card.press("Approve")
        assert await ana.told("You approved turn 2 already: another person must approve it too.")
        await shown.press("Edit", filename="notes.md", text="Ben's\n")
        assert await ana.sees("1 of 2 · edited and approved by @ben")
        await card.press("Approve")  # what was shown before the edit
        assert await ana.told("Nothing was decided: turn 2 changed")
        edited = await (await scene.join("cam", "member")).asks("write_to_file")
        assert "Ben's" in edited.text
        await edited.press("Approve")
        await ana.asks("do_nothing")
        assert await ana.file("notes.md") == "Ben's\n"


@pytest.mark.proves("two:people")
async def test_the_list_of_what_waits_says_one_of_two_and_stays(tmp_path: Path) -> None:
    async with opened("web", ScriptedModel(WAIT, writing("notes.md", "one\n"), WAIT), tmp_path) as scene:
        ana = await clerk(scene)
        assert isinstance(ana, PageChat)
        waiting = await ana.asks("do_nothing")
        await ana.says("!policy two write")
        assert await ana.sees("@ana set the policy: two people approve: write.")
        await waiting.press("Approve")
        card = await ana.asks("write_to_file")
        assert "Approve ×N" not in card.text
        await card.press("Approve")
        async with ana.session.get(f"{ana.base}/") as page:
            assert (page.status, "1 of 2 · approved by @ana" in await page.text()) == (200, True)
