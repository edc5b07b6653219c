"""Slack is asked at every click and for every form whether a person is a member of the agent's channel now."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, Running, at_work, text_of
from tests.scenario.team import new_clerk
from tests.scenario.test_slack_notifications import MORE, WRITE, direct, home_with
from tests.standins.slack.values import Json

LONG = writing("notes.md", "".join(f"line {number} of many\n" for number in range(9000)))
NO_MEMBER = "no member of the agent's channel"


async def state_of(running: Running) -> tuple[int, str]:
    """The number and state of the newest turn."""
    turn = await running.stage.turn(await running.agent())
    return turn.number, turn.state


async def sent_from_outside(office: Office, form: Json, values: dict[str, str] | None = None) -> str:
    """What Ben reads in the form that he sends after he left the channel."""
    office.general.people = (office.ana,)
    answer = await office.ben.submits(form, values)
    await office.slack.settled()
    assert answer.body
    return str(answer.body.get("errors") or text_of(answer.body))


@pytest.mark.slow
async def test_a_form_from_a_direct_message_decides_nothing_for_who_left_meanwhile(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await new_clerk(office, running)
        await office.ben.clicks(await direct(office, office.ben, "turn 1"), "Reject")
        form = await office.form(office.ben, "Reject turn 1")
        assert NO_MEMBER in await sent_from_outside(office, form, {"Reason": "From outside"})
        assert await state_of(running) == (1, "proposed")


@pytest.mark.slow
@pytest.mark.parametrize(("label", "title"), [("Edit", "Edit"), ("Reject", "Reject turn 1")])
async def test_a_form_of_a_card_decides_nothing_for_who_left_meanwhile(
    label: str, title: str, office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await new_clerk(office, running)
        await office.ben.clicks(await office.card(1), label)
        assert NO_MEMBER in await sent_from_outside(office, await office.form(office.ben, title))
        assert await state_of(running) == (1, "proposed")


@pytest.mark.slow
async def test_no_other_part_of_a_long_text_is_shown_to_who_left_meanwhile(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(LONG, *MORE), tmp_path) as running:
        await new_clerk(office, running)
        await office.card(1)
        await office.ben.clicks_in(await home_with(office, office.ben, "Clerk needs approval"), "Show all")
        first = await office.form(office.ben, "Turn 1")
        await office.ben.clicks_in(first, "Next part")
        second = await office.changed(office.ben, first)
        assert "Part 2 of" in text_of(second)
        office.general.people = (office.ana,)
        await office.ben.clicks_in(second, "Previous part")
        shown = text_of(await office.changed(office.ben, second))
        assert NO_MEMBER in shown
        assert "of many" not in shown


@pytest.mark.slow
async def test_home_tells_nothing_of_a_private_channel_to_an_owner_who_was_removed(
    office: Office, tmp_path: Path
) -> None:
    leaders = office.team.channel("C2", "leaders", is_private=True, people=(office.ana, office.ben))
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path):
        await office.ana.types("/agent", "new Scout | looks | Find it", leaders)
        await office.slack.until(lambda: len(office.cards(leaders)) == 1)
        leaders.people = (office.ben,)
        assert "Scout" not in text_of(await home_with(office, office.ana, "New agent"))


@pytest.mark.slow
async def test_home_lists_nothing_and_says_why_while_slack_does_not_tell_who_is_in_a_channel(
    office: Office, tmp_path: Path
) -> None:
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path) as running:
        await new_clerk(office, running)
        await office.card(1)
        office.slack.fails("users.conversations", error="missing_scope")
        home = await home_with(office, office.ana, "Slack did not tell which channels you are in")
        assert "Clerk" not in text_of(home)
        await home_with(office, office.ana, "Clerk needs approval")
