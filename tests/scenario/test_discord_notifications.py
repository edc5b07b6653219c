"""Discord calls people: the owner follows the thread, reminders mention, and direct messages ask."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import discord
import pytest
from simcord.actors import MemberActor

from agent_core.model.agent import Stopped
from agent_core.testing.language_model import ScriptedModel
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import adding, writing
from tests.scenario.discord_app import Guild, Running, at_work, text_of
from tests.scenario.member import GuildCard, GuildChat, labels_of, pressed, pressed_late, submitted

pytestmark = pytest.mark.slow

WRITE = writing("notes.md", "one\n")
MORE = [adding("notes.md", f"line {number}\n") for number in range(9)]


@dataclass(frozen=True, slots=True)
class Scene:
    """A server with Signoff at work, Ana's agent Clerk that waits, and Ben."""

    guild: Guild
    running: Running
    ana: GuildChat
    card: GuildCard
    ben: MemberActor

    def reminders(self) -> list[discord.Message]:
        return [each for each in self.guild.said() if "needs approval: turn" in text_of(each)]

    async def direct(self, text: str) -> discord.Message:
        """Ben's newest direct message, once it says this."""

        def said() -> list[discord.Message]:
            return [each for each in self.ben.user.dm_channel.history() if text in text_of(each)]

        await self.guild.until(lambda: bool(said()))
        return said()[-1]


@asynccontextmanager
async def waiting(folder: Path) -> AsyncIterator[Scene]:
    async with Guild.opened() as guild, at_work(guild, ScriptedModel(WRITE, *MORE), folder) as running:
        ben, ana = guild.person("ben"), GuildChat(guild, running, guild.person("ana"))
        await ana.new_agent("Clerk", "keeps notes", "Write notes")
        yield Scene(guild, running, ana, await ana.asks("write_to_file"), ben)


@pytest.mark.proves("attention:reminders")
async def test_a_wait_of_five_minutes_reminds_the_owner_and_a_decision_takes_the_reminder_away(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        play.guild.clock.leap(timedelta(minutes=5, seconds=1))
        await play.guild.until(lambda: len(play.reminders()) == 1)
        [reminder] = play.reminders()
        assert [each.id for each in reminder.mentions] == [play.ana.person.id]
        assert "turn 1, write_to_file" in text_of(reminder)
        assert not {"notes.md", "one"} & set(text_of(reminder).split())
        await play.card.press("Approve")
        await play.guild.until(lambda: not play.reminders())


async def test_a_channel_sets_whom_reminders_call(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        for text, said in (
            ("", "reminds the owner after 5 min, 30 min, 4 h."),
            (f"call <@{play.ben.id}> <@&77>", f"reminds {play.ben.id}, &77 after"),
            ("after 10m", "after 10 min."),
            ("call @ben", "@ben is nobody whom Signoff knows here"),
        ):
            answer = await play.ana.person.slash(play.guild.general, "agent reminders", text=text)
            assert answer.response
            assert said in text_of(answer.response.message)
        play.guild.clock.leap(timedelta(minutes=11))
        await play.guild.until(lambda: len(play.reminders()) == 1)
        assert [each.id for each in play.reminders()[0].mentions] == [play.ben.id]


@pytest.mark.slow
@pytest.mark.proves("attention:escalation")
async def test_a_backup_is_called_later_and_then_the_agent_pauses_undecided(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        for line in ("after 1h", f"backup <@{play.ben.id}> after 8h", "pause 24h"):
            await play.ana.person.slash(play.guild.general, "agent reminders", text=line)
        play.guild.clock.leap(timedelta(hours=1, minutes=1))
        await play.guild.until(lambda: len(play.reminders()) == 1)
        assert [each.id for each in play.reminders()[0].mentions] == [play.ana.person.id]
        play.guild.clock.leap(timedelta(hours=7))
        await play.guild.until(lambda: play.ben.id in [each.id for each in play.reminders()[-1].mentions])
        play.guild.clock.leap(timedelta(hours=16))
        assert await play.ana.sees("Nobody decided for 24 hours. The card still waits; Approve or Resume goes on.")
        agent = await play.running.agent()
        turn = await play.running.stage.views.newest_turn(agent.channel, agent.id)
        assert turn
        assert (turn.state, turn.approvals) == ("proposed", ())


@pytest.mark.proves("attention:direct")
async def test_who_asked_for_it_decides_in_a_direct_message_which_then_tells_how_it_ended(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        await play.ben.slash(play.guild.general, "agent notify", text="me")
        first = await play.direct("turn 1")
        assert "one" in text_of(first)
        assert labels_of(first) == ["Approve", "Reject", "Open card"]
        await pressed(play.ben.user, first, "Approve")
        await play.direct("approved by @ben")
        second = await play.direct("turn 2")
        form = await pressed(play.ben.user, second, "Reject")
        await submitted(play.ben.user, form, {"reason": "Not this"})
        await play.guild.message("Not this", "turn 2")
        await play.direct("turn 3")


async def test_a_direct_message_decides_nothing_for_who_left_the_server_or_clicks_too_late(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        await play.ben.slash(play.guild.general, "agent notify", text="me")
        message = await play.direct("turn 1")
        await play.card.press("Approve")
        await play.direct("turn 2")
        late = await pressed_late(play.guild, play.ben, message, "Approve")
        assert late.response
        assert "already approved by @ana" in text_of(late.response.message)
        assert (await play.running.agent()).turns == 2


@pytest.mark.proves("attention:reminders")
async def test_calls_that_a_process_sent_and_could_not_record_are_found_and_taken_back(tmp_path: Path) -> None:
    async with waiting(tmp_path) as play:
        await play.ben.slash(play.guild.general, "agent notify", text="me")
        play.guild.clock.leap(timedelta(minutes=5, seconds=1))
        await play.guild.until(lambda: len(play.reminders()) == 1)
        await play.direct("turn 1")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while any(each.is_planned for each in (await play.running.agent()).notifications):
                continue
        agent = await play.running.agent()
        surface = play.running.stage.surface
        assert surface.notifications
        for each in agent.notifications:
            lost = replace(each, address="", is_planned=True)
            await surface.notifications.take_back(agent.become(Stopped(agent.owner), agent.since), None, lost)
        assert play.reminders() == []
        assert "Approve" not in labels_of(await play.direct("Clerk"))
