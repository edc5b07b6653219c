"""A reply that rejected is taken back in the chat: by the button under it, or by a line."""

from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.discord_app import text_of as said
from tests.scenario.member import GuildChat, labels_of, pressed
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import new_clerk

pytestmark = [pytest.mark.slow, pytest.mark.proves("reply:undo")]
WRITE, AGAIN = writing("notes.md", "one\n"), writing("other.md", "two\n")
LATER = timedelta(minutes=10)  # so that no slow machine makes it too late
REJECTED = "Turn 1 is rejected with your reply as the reason. You can undo this for ten seconds."
UNDONE = "undid the rejection of turn 1: it needs approval again."
FEEDBACK = "Use the other file"


def offering(guild: Guild, label: str) -> list[str]:
    return [text for each in guild.said() if label in labels_of(each) and "· write_to_file" not in (text := said(each))]


async def test_a_rejection_by_a_reply_is_undone_in_slack(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE, AGAIN), tmp_path, undo_window=LATER) as running:
        ana = await new_clerk(office, running)
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
        await guild.until(lambda: not offering(guild, "Undo"))
        await card.press("Approve")
        await ana.asks("write_to_file")
        assert await ana.file("notes.md") == "one\n"


async def test_discord_deletes_the_offers_to_decide_when_somebody_decides(tmp_path: Path) -> None:
    async with Guild.opened() as guild, at_work_in(guild, ScriptedModel(WRITE, AGAIN), tmp_path) as running:
        ana = GuildChat(guild, running, guild.person("ana"))
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        await ana.says("nice")
        await ana.says("hmm")
        await guild.until(lambda: len(offering(guild, "Approve")) == 2)
        await card.press("Approve")
        await guild.until(lambda: not offering(guild, "Approve"))
        assert await ana.sees("other.md")


async def test_discord_deletes_the_offer_to_resume_when_the_agent_resumes(tmp_path: Path) -> None:
    async with Guild.opened() as guild, at_work_in(guild, ScriptedModel(WRITE, AGAIN), tmp_path) as running:
        ana = GuildChat(guild, running, guild.person("ana"))
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        await ana.says("!stop")
        await ana.says("nice")
        await pressed(ana.person, await guild.message("Saved. Clerk is stopped"), "Resume")
        await guild.until(lambda: not any("Saved." in said(each) for each in guild.said()))
