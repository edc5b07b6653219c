"""Each advance of an agent raises its fence: an earlier one, in whatever process, can save and begin nothing more."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from agent_core.errors import Superseded
from agent_core.loop.claim import Fence
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Result
from agent_core.model.decision import Approve
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import CommandContext

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "x"})


@dataclass
class Drawn(RecordingSurface):
    """Notes at which fence it was told to forget an agent."""

    forgotten: list[int] = field(default_factory=list)

    def forget_shown(self, agent: Agent) -> None:
        self.forgotten.append(agent.fence)


async def at_present(stage: Stage, agent: Agent) -> Agent:
    async with stage.database.begin() as work:
        return await work.agents.locate(agent.id)


@pytest.mark.proves("workers:claim", "workers:zombie")
async def test_who_advanced_an_agent_before_is_superseded() -> None:
    database = TemporaryDatabase()
    first, second = Stage(database=database), Stage(database=database)
    await keep(database, agent := an_agent())
    await first.loop.advance(agent.id)
    fence = Fence(database=database, clock=first.clock, claimed=await at_present(first, agent), read=-1.0)
    await fence.confirm()
    await second.loop.advance(agent.id)
    await fence.confirm()  # the same second: no engine gives an agent to two workers so soon
    first.fake_clock.advance(1)
    with pytest.raises(Superseded):
        await fence.confirm()


@pytest.mark.proves("workers:zombie")
async def test_a_command_that_another_process_took_over_saves_nothing_of_its_result() -> None:
    database, begun, go_on = TemporaryDatabase(), asyncio.Event(), asyncio.Event()

    async def slowly(call: CommandCall, context: CommandContext, run: NextHook) -> Result:
        begun.set()
        await go_on.wait()
        return await run(call, context)

    surface = RecordingSurface()
    zombie = Stage(
        model=ScriptedModel(WRITE), database=database, surface=surface, extensions=Extensions(hooks=(slowly,))
    )
    agent = await zombie.create()
    await zombie.decide(agent, Approve())
    running = asyncio.create_task(zombie.loop.advance(agent.id))
    await begun.wait()
    other = Stage(database=database, surface=surface, workspaces=zombie.workspaces, model=ScriptedModel(WRITE))
    await other.loop.advance(agent.id)
    after = await at_present(other, agent)
    go_on.set()
    await running
    assert await at_present(other, agent) == after


@pytest.mark.proves("workers:forget")
async def test_a_process_forgets_what_it_showed_if_another_advanced_the_agent_since() -> None:
    database = TemporaryDatabase()
    drawn = Drawn()
    first, second = Stage(database=database, surface=drawn), Stage(database=database)
    await keep(database, agent := an_agent())
    for stage in (first, first, second, first):
        await stage.loop.advance(agent.id)
    assert drawn.forgotten == [1, 4]


async def test_an_agent_of_a_surface_that_is_not_served_is_left_alone() -> None:
    stage = Stage()
    elsewhere = an_agent(channel=replace(an_agent().channel, surface="slack"))
    await keep(stage.database, elsewhere)
    await stage.loop.advance(elsewhere.id)
    assert await at_present(stage, elsewhere) == elsewhere
