"""The page of a schedule: the times are shown before they are saved, and what is wrong stands at its field."""

import html
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.page import PageChat
from tests.scenario.served import served

pytestmark = pytest.mark.slow
DONE = reply_text("task_complete", {"reason": "All is written."})
FIELDS = {"when": "every Monday at 9:00", "zone": "Europe/Vienna", "turns": "5", "budget": "2.50", "quiet": ""}
WORDS = "At 09:00, only on Monday (Europe/Vienna)"


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    async with (
        served(ScriptedModel(DONE, DONE, waits=True), tmp_path) as address,
        PageChat.opened(address, "ana") as chat,
    ):
        await chat.new_agent("Clerk", "writes", "Write a file")
        await (await chat.asks("task_complete")).press("Approve")
        assert await chat.sees("Clerk is done")
        yield chat


async def press(chat: PageChat, verb: str, **fields: str) -> tuple[int, str]:
    status, page = await chat.send("schedule", {**FIELDS, **fields, "do": verb})
    return status, html.unescape(page)


async def test_the_times_are_shown_then_saved_then_paused_begun_and_deleted(ana: PageChat) -> None:
    status, page = await press(ana, "show")
    assert (status, WORDS in page, "Nothing is saved yet." in page, 'value="2.50"' in page) == (200, True, True, True)
    assert page.count(" 09:00") >= 3
    assert "It has no schedule" in page
    _, page = await press(ana, "set")
    assert (f"<b>{WORDS}</b>. A run ends after 5 turns or $2.50" in page, 'value="0 9 * * 1"' in page) == (True, True)
    assert WORDS in html.unescape(await ana.page())
    assert "It is paused." in (await press(ana, "pause"))[1]
    assert "Next: Mon" in (await press(ana, "resume"))[1]
    assert "Run 1 began" in (await press(ana, "now"))[1]
    assert (await press(ana, "now"))[0] == 409
    assert "It has no schedule" in (await press(ana, "delete"))[1]


async def test_the_form_for_a_new_agent_has_a_schedule_and_refuses_a_wrong_one(ana: PageChat) -> None:
    fields = {"name": "Ada", "role": "", "goals": "Write", "schedule": "every now and then"}
    async with ana.session.post(f"{ana.base}/c/web/local/general/new", data=fields) as answer:
        page = html.unescape(await answer.text())
    assert (answer.status, 'id="problem-schedule"' in page, 'value="every now and then"' in page) == (422, True, True)
    fields["schedule"] = "every Monday at 9:00, zone Europe/Vienna, turns 5"
    async with ana.session.post(f"{ana.base}/c/web/local/general/new", data=fields) as answer:
        page = html.unescape(await answer.text())
    assert f"@ana set the schedule: {WORDS}. A run ends after 5 turns at the latest. Next: Mon " in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"when": "now and then"}, "Schedule: “now and then” is no time that Signoff knows."),
        ({"zone": "Mars/Base"}, "Time zone: Mars/Base is none."),
        ({"turns": "many"}, "Turns of a run: 1 to 500."),
        ({"budget": "-1"}, "Budget of a run: an amount"),
        ({"quiet": "night"}, "Quiet hours: write them as 22:00-07:00, or nothing."),
        ({"quiet": "08:00-10:00"}, "it never comes"),
    ],
)
async def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    ana: PageChat, fields: dict[str, str], said: str
) -> None:
    status, page = await press(ana, "set", **fields)
    field = "when" if said == "it never comes" else next(iter(fields))
    kept = f'name="{next(iter(fields))}" value="{next(iter(fields.values()))}"'
    assert (status, said in page, f'id="problem-{field}"' in page, kept in page) == (422, True, True, True)
