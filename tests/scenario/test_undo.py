"""A reply that rejected is taken back in the chat: by the button under it, or by a line."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.member import GuildChat, labels_of, pressed
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat

pytestmark = [pytest.mark.slow, pytest.mark.proves("reply:undo")]
WRITE, AGAIN = writing("notes.md", "one\n"), writing("other.md", "two\n")
LATER = timedelta(minutes=10)  # so that no slow machine makes it too late
REJECTED = "Turn 1 is rejected with your reply as the reason. You can undo this for ten seconds."
UNDONE = "undid the rejection of turn 1: it waits again."
FEEDBACK = "Use the other file"


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


async def test_a_rejection_by_a_reply_is_undone_in_slack(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, AGAIN), tmp_path, undo_window=LATER) as running:
        ana = SlackChat(office, running, office.ana)
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        await ana.says(FEEDBACK)
        await office.ana.clicks(await office.told(office.ana, REJECTED), "Undo")
        assert await ana.sees(UNDONE)
        await ana.says(FEEDBACK)
        assert await ana.told(REJECTED, times=2)
        await ana.says("!undo")
        await office.slack.until(lambda: sum(UNDONE in text_of(each) for each in office.general.messages) == 2)
        await card.press("Approve")
        await ana.asks("write_to_file")
        assert await ana.file("notes.md") == "one\n"


async def test_a_rejection_by_a_reply_is_undone_in_discord(tmp_path: Path) -> None:
    async with (
        Guild.opened() as guild,
        at_work_in(guild, ScriptedModel(WRITE, AGAIN), tmp_path, undo_window=LATER) as running,
    ):
        ana = GuildChat(guild, running, guild.person("ana"))
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        await ana.says(FEEDBACK)
        answer = await guild.message(REJECTED)
        assert labels_of(answer) == ["Undo"]
        await pressed(ana.person, answer, "Undo")
        assert await ana.sees(UNDONE)
        await card.press("Approve")
        await ana.asks("write_to_file")
        assert await ana.file("notes.md") == "one\n"
