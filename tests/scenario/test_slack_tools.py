"""What commands do in a Slack thread: helpers, pictures, live output, what others wrote."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import BaseModel

from adapters.screens.cards import READ_UNTRUSTED
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.model.agent import Stopped, Thinking
from agent_core.model.command import Interrupted
from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.media import PNG
from agent_core.toolset.registry import CommandContext, CommandOutput, declare
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, Running, at_work, text_of
from tests.scenario.team import SlackChat

pytestmark = pytest.mark.slow

START = reply_text("start_agent", {"name": "Scout", "task": "Find prices <!channel>"})
WAIT, DONE = reply_text("do_nothing"), reply_text("task_complete", {"reason": "Prices are in prices.md."})


class Nothing(BaseModel):
    """No arguments."""


@dataclass(slots=True)
class Tools:
    """Commands that a test lets go on."""

    lines: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def draw(self, _given: Nothing, context: CommandContext) -> CommandOutput:
        """Draw."""
        await context.files.write("images/sun.png", PNG)
        return CommandOutput(text="It is in images/sun.png.", files=("images/sun.png",))

    async def build(self, _given: Nothing, context: CommandContext) -> str:
        """Build."""
        said = ""
        while (line := await self.lines.get()) != "end":
            said += f"{line}\n"
            context.report(said)
        return "built"


class OfEach(ScriptedModel):
    """Says to each agent what was written for it."""

    def __init__(self, **replies: tuple[str, ...]) -> None:
        super().__init__()
        self.by_name = {name: list(said) for name, said in replies.items()}

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """The next of the agent's own."""
        asking = next(name for name in self.by_name if f"You are {name}:" in messages[0].content)
        self.say(self.by_name[asking].pop(0))
        return await super().complete(messages, options)


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


@asynccontextmanager
async def clerk(office: Office, folder: Path, tools: Tools, **replies: tuple[str, ...]) -> AsyncIterator[SlackChat]:
    async with at_work(office, OfEach(**replies), folder) as running:
        stage = running.stage
        for command in (
            *AgentCommands(stage.helpers).commands,
            declare(Nothing, tools.draw, label="Draw", risks=("spend",), category="media"),
            declare(Nothing, tools.build, label="Build", risks=("execute",), category="code", outside=True),
        ):
            stage.commands.register(command)
        chat = SlackChat(office, running, office.ana)
        await chat.new_agent("Clerk", "keeps notes", "Write a report")
        yield chat


async def status(running: Running, name: str) -> object:
    return (await running.agent(name)).status


async def test_a_helper_asks_in_the_same_thread_and_the_root_message_stays(office: Office, tmp_path: Path) -> None:
    replies = {"Clerk": (START, WAIT, DONE), "Scout": (writing("prices.md", "1\n"), DONE)}
    async with clerk(office, tmp_path, Tools(), **replies) as chat:
        await (await chat.asks("start_agent")).press("Approve")
        helpers = await chat.asks("write_to_file")
        assert "Clerk › Scout · turn 1 · write_to_file" in text_of(helpers.message)
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


async def test_stop_on_the_agent_stops_its_helper_too(office: Office, tmp_path: Path) -> None:
    replies = {"Clerk": (START, WAIT), "Scout": (writing("prices.md", "1\n"),)}
    async with clerk(office, tmp_path, Tools(), **replies) as chat:
        await (await chat.asks("start_agent")).press("Approve")
        await chat.asks("write_to_file")
        await chat.says("!stop")
        assert await chat.sees("stopped by")
        assert isinstance(await status(chat.running, "Scout"), Stopped)


async def test_a_picture_is_put_into_the_thread(office: Office, tmp_path: Path) -> None:
    async with clerk(office, tmp_path, Tools(), Clerk=(reply_text("draw"), DONE)) as chat:
        await (await chat.asks("draw")).press("Approve")
        await chat.asks("task_complete")
        (file,) = office.slack.files.values()
        assert (file["name"], office.slack.contents[file["id"]]) == ("images/sun.png", PNG)
        (shared,) = [message for message in office.general.messages if message.get("files")]
        assert shared["thread_ts"] == office.general.messages[0]["ts"]


async def test_live_output_stands_on_the_card_and_stop_ends_it(office: Office, tmp_path: Path) -> None:
    tools = Tools()
    async with clerk(office, tmp_path, tools, Clerk=(reply_text("build"),)) as chat:
        await (await chat.asks("build")).press("Approve")
        tools.lines.put_nowait("compiling <!here>")
        running = await office.card(1, "running", "compiling")
        assert "Stop" in text_of(running)
        await chat.says("!stop")
        stopped = await office.card(1, "stopped by")
        assert "compiling <!here>" in text_of(stopped)
        turn = await chat.running.stage.turn(await chat.running.agent())
        assert isinstance(turn.result, Interrupted)
        assert turn.result.output == "compiling <!here>\n"


async def test_a_card_after_what_others_wrote_says_so(office: Office, tmp_path: Path) -> None:
    tools = Tools()
    tools.lines.put_nowait("end")
    async with clerk(office, tmp_path, tools, Clerk=(reply_text("build"), WAIT)) as chat:
        await (await chat.asks("build")).press("Approve")
        await office.card(2, READ_UNTRUSTED)
