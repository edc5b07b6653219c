"""What commands do in a Slack thread: helpers, pictures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.model.agent import Thinking
from agent_core.testing.language_model import reply_text
from agent_core.testing.media import PNG
from agent_core.toolset.registry import CommandContext, CommandOutput, NoArguments, declare
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, Running, at_work, text_of
from tests.scenario.team import SlackChat, new_clerk
from tests.scenario.tools import ModelOfEach

pytestmark = pytest.mark.slow

START = reply_text("start_agent", {"name": "Scout", "task": "Find prices <!channel>"})
WAIT, DONE = reply_text("do_nothing"), reply_text("task_complete", {"reason": "Prices are in prices.md."})


async def draw(_given: NoArguments, context: CommandContext) -> CommandOutput:
    """Draw."""
    await context.files.write("images/sun.png", PNG)
    return CommandOutput(text="It is in images/sun.png.", files=("images/sun.png",))


DRAW = declare(NoArguments, draw, label="Draw", risks=("spend",), category="media")


@asynccontextmanager
async def clerk(office: Office, folder: Path, **replies: tuple[str, ...]) -> AsyncIterator[SlackChat]:
    async with at_work(office, ModelOfEach(**replies), folder) as running:
        stage = running.stage
        for command in (*AgentCommands(stage.helpers).commands, DRAW):
            stage.commands.register(command)
        chat = await new_clerk(office, running)
        yield chat


async def status(running: Running, name: str) -> object:
    return (await running.agent(name)).status


async def test_a_helper_asks_in_the_same_thread_and_the_root_message_stays(office: Office, tmp_path: Path) -> None:
    replies = {"Clerk": (START, WAIT, DONE), "Scout": (writing("prices.md", "1\n"), DONE)}
    async with clerk(office, tmp_path, **replies) as chat:
        await (await chat.asks("start_agent")).press("Approve")
        helpers = await chat.asks("write_to_file")
        assert "Clerk › Scout wants to write" in text_of(helpers.message)
        await (await chat.asks("do_nothing")).press("Approve")
        root = await office.said("waiting for Scout")
        assert {message.get("thread_ts") for message in office.cards()} == {root["ts"]}
        await chat.says("@Scout use euros")
        await office.slack.until(lambda: any("rejected by" in text_of(card) for card in office.cards()))
        assert await status(chat.running, "Clerk") == Thinking(waits_for=("Scout",))
        await (await chat.asks("task_complete")).press("Approve")
        assert await chat.sees("Scout is done")
        await (await chat.asks("task_complete")).press("Approve")
        assert await chat.sees("Clerk is done")
        await office.slack.until(lambda: "Scout" not in text_of(office.general.messages[0]))


async def test_a_picture_is_put_into_the_thread(office: Office, tmp_path: Path) -> None:
    async with clerk(office, tmp_path, Clerk=(reply_text("draw"), DONE)) as chat:
        await (await chat.asks("draw")).press("Approve")
        await chat.asks("task_complete")
        (file,) = office.slack.files.values()
        assert (file["name"], office.slack.contents[file["id"]]) == ("images/sun.png", PNG)
        (shared,) = [message for message in office.general.messages if message.get("files")]
        assert shared["thread_ts"] == office.general.messages[0]["ts"]
