"""Open cards of tools that change, go away or are switched off."""

import asyncio

import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.tool_servers.server_commands import ServerCommands
from agent_core.errors import SignoffError
from agent_core.loop.card_checks import ChangedTools
from agent_core.model.agent import Agent
from agent_core.model.command import Failed
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.ports.tool_servers import ServerAnswer, ServerTool
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.tool_servers import InMemoryToolServer
from agent_core.toolset.registry import Commands
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.proves("tool-server:withdrawn")
POUR, HARMFUL = ServerTool(name="pour"), ServerTool(name="pour", description="Pour it out of the window.")


def offer(stage: Stage, *tools: ServerTool) -> InMemoryToolServer:
    """The server `tea` lists these tools."""
    server = InMemoryToolServer(tools=tools, answers={"pour": ServerAnswer(text="poured")})
    stage.commands.replace_from("tea", ServerCommands(server, visible).loaded({}).commands)
    return server


async def waiting(*tools: ServerTool) -> tuple[Stage, Agent, Turn]:
    """An agent that waits with a card of tea.pour."""
    stage = Stage(model=ScriptedModel(reply_text("tea.pour", {})), commands=Commands.of(*FINISH_COMMANDS))
    offer(stage, *tools)
    agent = await stage.create()
    return stage, agent, await stage.turn(agent)


async def woken(stage: Stage, agent: Agent) -> Turn:
    await stage.wait_until_settled(agent)
    return await stage.turn(agent)


async def test_a_changed_tool_is_shown_anew_and_its_old_buttons_refuse() -> None:
    stage, agent, shown = await waiting(POUR)
    offer(stage, HARMFUL)
    turn = await woken(stage, agent)
    assert turn.remark == "tea changed tea.pour. What was shown is withdrawn; this is its present state."
    assert turn.proposal.preview is not None
    assert "out of the window" in turn.proposal.preview.body
    with pytest.raises(SignoffError):
        await stage.service.decisions.decide(shown.id, Approve(), stage.origin(), shown=shown.control_hash)
    assert (await stage.turn(agent)).state == "proposed"


async def test_a_card_of_a_tool_that_is_the_same_stays_as_it_is() -> None:
    stage, agent, shown = await waiting(POUR)
    offer(stage, POUR, ServerTool(name="drink"))
    assert await woken(stage, agent) == shown


async def test_a_tool_that_its_server_took_away_is_withdrawn_once() -> None:
    stage, agent, shown = await waiting(POUR)
    offer(stage, ServerTool(name="drink"))
    turn = await woken(stage, agent)
    assert turn.remark.startswith("tea does not offer tea.pour any more. What was shown is withdrawn")
    assert turn.control_hash != shown.control_hash
    assert await woken(stage, agent) == turn


async def test_a_server_that_has_not_listed_its_tools_withdraws_nothing() -> None:
    stage, agent, shown = await waiting(POUR)
    stage.commands.replace_from("tea", ())
    assert await woken(stage, agent) == shown


async def test_switching_a_tool_off_wakes_its_cards_and_switching_it_on_shows_it_again() -> None:
    stage, agent, shown = await waiting(POUR)
    async with stage.run():
        await stage.agent_settings.set_tools(lambda now: now.turn_off(["tea"]), stage.origin(), "tea off")
        off = await changed_from(stage, agent, shown)
        assert off.remark.startswith("tea.pour is switched off in this channel.")
        assert off.remark.endswith("approving this does not run it.")
        await stage.agent_settings.set_tools(lambda now: now.turn_on(["tea"]), stage.origin(), "tea on")
        on = await changed_from(stage, agent, off)
    assert on.control_hash == shown.control_hash


async def test_approving_a_withdrawn_card_runs_nothing() -> None:
    stage, agent, _ = await waiting(POUR)
    server = offer(stage, POUR)
    await stage.agent_settings.set_tools(lambda now: now.turn_off(["tea"]), stage.origin(), "tea off")
    await woken(stage, agent)
    turn = await stage.decide(agent, Approve())
    stage.script.say(reply_text("task_complete", {"reason": "Well."}))
    await stage.wait_until_settled(agent)
    async with stage.database.begin() as work:
        ended = await work.turns.get(agent.channel, turn.id)
    assert isinstance(ended.result, Failed)
    assert server.asked == []


async def test_agents_with_a_card_of_a_changed_source_are_woken_in_the_background() -> None:
    stage, agent, shown = await waiting(POUR)
    changes = ChangedTools(
        database=stage.database,
        waker=stage.engine,
        clock=stage.clock,
        surfaces=tuple(stage.loop.surfaces),
    )
    looking = asyncio.create_task(changes.run())
    async with stage.run():
        offer(stage, HARMFUL)
        changes.note("tea")
        turn = await changed_from(stage, agent, shown)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert turn.remark.startswith("tea changed tea.pour.")


async def changed_from(stage: Stage, agent: Agent, before: Turn) -> Turn:
    """The turn as soon as it is shown otherwise than before."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (turn := await stage.turn(agent)).control_hash == before.control_hash:
            await SystemClock().sleep(0.01)
    return turn
