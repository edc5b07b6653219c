"""What commands do in a Discord thread: helpers, pictures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.model.agent import Thinking
from agent_core.testing.language_model import reply_text
from agent_core.testing.media import PNG
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild, at_work
from tests.scenario.member import GuildChat
from tests.scenario.test_slack_tools import DONE, DRAW, START, WAIT
from tests.scenario.tools import ModelOfEach

pytestmark = pytest.mark.slow


@asynccontextmanager
async def clerk(folder: Path, **replies: tuple[str, ...]) -> AsyncIterator[GuildChat]:
    async with Guild.opened() as guild, at_work(guild, ModelOfEach(**replies), folder) as running:
        for command in (*AgentCommands(running.stage.helpers).commands, DRAW):
            running.stage.commands.register(command)
        chat = GuildChat(guild, running, guild.person("ana"))
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        yield chat


async def test_a_helper_asks_in_the_same_thread_and_is_answered_by_its_name(tmp_path: Path) -> None:
    replies = {"Clerk": (START, WAIT, DONE), "Scout": (writing("prices.md", "1\n"), DONE)}
    async with clerk(tmp_path, **replies) as chat:
        await (await chat.asks("start_agent")).press("Approve")
        helpers = await chat.asks("write_to_file")
        assert "Clerk › Scout wants to write" in helpers.text
        await (await chat.asks("do_nothing")).press("Approve")
        await chat.guild.message("waiting for Scout", place=chat.guild.general)
        await chat.says("@Scout use euros")
        await chat.guild.message("rejected by", "use euros")
        assert (await chat.running.agent()).status == Thinking(waits_for=("Scout",))
        await (await chat.asks("task_complete")).press("Approve")
        assert await chat.sees("Scout is done")
        await (await chat.asks("task_complete")).press("Approve")
        assert await chat.sees("Clerk is done")
        assert len(chat.guild.general.threads) == 1


async def test_a_picture_that_was_drawn_is_put_into_the_thread(tmp_path: Path) -> None:
    async with clerk(tmp_path, Clerk=(reply_text("draw"), DONE)) as chat:
        await (await chat.asks("draw")).press("Approve")
        await chat.asks("task_complete")
        (file,) = [file for message in chat.guild.said() for file in message.attachments]
        assert (file.filename, await file.read()) == ("sun.png", PNG)
