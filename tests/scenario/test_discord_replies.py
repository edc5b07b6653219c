"""Discord's own Reply: to a person's message it is talk to that person, to Signoff's message it is for the agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import discord
import pytest
from simcord.builders import ChannelHandle

from tests.scenario.chat import writing
from tests.scenario.member import GuildCard, GuildLine
from tests.scenario.test_discord import Scene, scene

pytestmark = [pytest.mark.slow, pytest.mark.proves("reply:agrees")]
FEEDBACK = "use the other file"


@dataclass(frozen=True, slots=True)
class Talk:
    """A thread in which a proposal waits and Ben asked Ana something."""

    play: Scene
    thread: ChannelHandle
    card: GuildCard
    asked: discord.Message

    async def ana_replies(self, text: str, to: discord.Message, *files: tuple[str, bytes]) -> None:
        self.play.guild.clock.leap(timedelta(seconds=1))
        await self.play.ana.person.send(self.thread, text, reply_to=to, attachments=files)
        await self.play.guild.env.settle()

    async def is_open(self) -> bool:
        stage, agent = self.play.running.stage, await self.play.running.agent()
        first = await stage.views.newest_turn(agent.channel, agent.id)
        return first is not None and (first.number, first.state) == (1, "proposed")

    async def notes(self) -> list[str]:
        async with self.play.running.stage.database.begin() as work:
            return [note.text for note in await work.notes.of(await self.play.running.agent())]

    @asynccontextmanager
    async def missed(self) -> AsyncIterator[None]:
        """Discord tells Signoff of nothing until the end; then Signoff reads up on it."""
        client = self.play.running.side.client
        connection, client.connection = client.connection, None
        yield
        client.connection = connection
        await GuildLine(self.play.ana).arrives()


@asynccontextmanager
async def talk(folder: Path) -> AsyncIterator[Talk]:
    async with scene(folder, writing("a.md", "a"), writing("b.md", "b"), undo_window=timedelta(minutes=10)) as play:
        await play.made()
        card = await play.ana.asks("write_to_file")
        thread = play.guild.thread()
        assert thread
        play.guild.clock.leap(timedelta(seconds=1))
        yield Talk(play, thread, card, await play.guild.person("ben").send(thread, "the old file for our slides?"))


async def test_a_reply_to_a_persons_message_is_a_note_that_names_them(tmp_path: Path) -> None:
    async with talk(tmp_path) as there:
        await there.ana_replies(FEEDBACK, there.asked)
        long = f"{FEEDBACK} {'and ' * 600}"
        await there.ana_replies("", there.asked, ("message.txt", long.encode()))
        assert await there.is_open()
        assert (await there.notes())[-2:] == [f"@ben {FEEDBACK}", f"@ben {long.strip()}"]


async def test_a_reply_to_a_persons_message_is_a_note_also_when_it_is_read_later(tmp_path: Path) -> None:
    async with talk(tmp_path) as there:
        async with there.missed():
            await there.ana_replies(FEEDBACK, there.asked)
        assert await there.is_open()
        assert (await there.notes())[-1] == f"@ben {FEEDBACK}"


async def test_a_reply_to_a_deleted_message_decides_nothing(tmp_path: Path) -> None:
    async with talk(tmp_path) as there:
        async with there.missed():
            await there.ana_replies(FEEDBACK, there.asked)
            await there.play.guild.person("ben").delete(there.asked)
        assert await there.is_open()
        assert (await there.notes())[-1] == f"@somebody {FEEDBACK}"


@pytest.mark.parametrize("text", ["!reject", f"@Signoff {FEEDBACK}"])
async def test_a_reply_that_addresses_signoff_first_is_for_the_agent(tmp_path: Path, text: str) -> None:
    async with talk(tmp_path) as there:
        me = there.play.running.side.client.user
        assert me
        await there.ana_replies(text.replace("@Signoff", me.mention), there.asked)
        assert not await there.is_open()


async def test_a_reply_to_the_agents_card_is_for_the_agent(tmp_path: Path) -> None:
    async with talk(tmp_path) as there:
        await there.ana_replies(FEEDBACK, there.card.message)
        assert not await there.is_open()
