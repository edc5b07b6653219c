"""A long command: what it gives stands on its card while it runs, and nothing of that comes after the result."""

import asyncio
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from adapters.screens.cards import turn_card
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.errors import ThreadGone
from agent_core.loop.live_progress import OUTPUT_SECONDS
from agent_core.model.agent import Agent
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import CommandContext, Commands, declare
from tests.patience import PATIENCE_SECONDS


class Nothing(BaseModel):
    """No arguments."""


@dataclass(slots=True)
class Slow:
    """A command that a test lets go on."""

    say: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    said: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def build(self, _given: Nothing, context: CommandContext) -> str:
        """Build it."""
        text = ""
        while (line := await self.say.get()) != "end":
            text += f"{line}\n"
            context.report(text)
            self.said.put_nowait(line)
        return "built"


def stage_with(slow: Slow) -> Stage:
    build = declare(Nothing, slow.build, label="Build", risks=("execute",), category="code")
    model = ScriptedModel(reply_text("build"), reply_text("do_nothing"))
    return Stage(model=model, commands=Commands.of(build, *FINISH_COMMANDS))


async def started(stage: Stage) -> tuple[Agent, asyncio.Task[Agent]]:
    agent = await stage.create()
    await stage.decide(agent, Approve())
    return agent, asyncio.create_task(stage.wait_until_settled(agent))


@pytest.mark.proves("live:card")
async def test_what_a_command_gives_stands_on_its_card_while_it_runs_and_not_after() -> None:
    slow = Slow()
    stage = stage_with(slow)
    agent, running = await started(stage)
    turn = await stage.turn(agent)
    slow.say.put_nowait("compiling")
    await stage.shown.until(lambda shown: "compiling" in shown.cards[turn.id].live)
    slow.say.put_nowait("linking")
    assert [await slow.said.get(), await slow.said.get()] == ["compiling", "linking"]
    await stage.fake_clock.until_sleeping()
    assert "linking" not in stage.shown.cards[turn.id].live
    stage.fake_clock.advance(OUTPUT_SECONDS)
    await stage.shown.until(lambda shown: "linking" in shown.cards[turn.id].live)
    assert turn_card(agent, stage.shown.cards[turn.id]).outcome == "compiling\nlinking"
    slow.say.put_nowait("end")
    await running
    assert turn_card(agent, stage.shown.cards[turn.id]).outcome == "built"
    assert stage.shown.cards[turn.id].live == ""


async def test_live_output_that_cannot_be_shown_costs_no_result() -> None:
    slow = Slow()
    stage = stage_with(slow)
    agent, running = await started(stage)
    turn = await stage.turn(agent)
    await stage.shown.until(lambda shown: shown.cards[turn.id].state != "proposed")
    stage.shown.faults.append(ThreadGone("The thread cannot be written to now."))
    slow.say.put_nowait("compiling")
    await stage.fake_clock.until_sleeping()
    assert stage.shown.faults == []
    slow.say.put_nowait("end")
    await running
    assert stage.shown.cards[turn.id].result == Succeeded("built")


@dataclass
class SlowSurface(RecordingSurface):
    """Shows live output only when the command has ended."""

    showing: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Take as long as the command."""
        if turn.live:
            self.showing.set()
            await self.ended.wait()
        return await super().show(agent, turn, may_exist=may_exist)


async def test_a_command_that_ends_while_its_output_is_shown_waits_for_nothing() -> None:
    surface = SlowSurface()

    async def echo(_given: Nothing, context: CommandContext) -> str:
        """Say it, and end as soon as it is being shown."""
        context.report("said")
        await surface.showing.wait()
        surface.ended.set()
        return "done"

    own = declare(Nothing, echo, label="Echo", risks=("execute",), category="code")
    model = ScriptedModel(reply_text("echo"), reply_text("do_nothing"))
    stage = Stage(model=model, surface=surface, commands=Commands.of(own, *FINISH_COMMANDS))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    async with asyncio.timeout(PATIENCE_SECONDS):
        agent = await stage.wait_until_settled(agent)
    assert agent.turns == 2
