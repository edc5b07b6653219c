"""A command that leaves a shared card: what stays on that card does not depend on one edit that Slack refused."""

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel

from adapters.slack.outbound.surface import SlackSurface
from agent_core.errors import SurfaceBusy
from agent_core.model.agent import Agent
from agent_core.model.command import Interrupted
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, declare
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat


class Nothing(BaseModel):
    """No arguments."""


async def build(_given: Nothing, _context: CommandContext) -> str:
    """Build for ever."""
    await asyncio.Event().wait()
    return "built"


def with_build(stage: Stage) -> None:
    command: Command = declare(Nothing, build, label="Build", risks=("write",), category="files")
    stage.commands.register(command)


async def running_turn(stage: Stage, agent: Agent) -> Turn:
    """The agent's newest turn, once its start is saved, and with it the address of its card."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            turn = await stage.views.newest_turn(agent.channel, agent.id)
            if turn and turn.state == "running":
                return turn
            await asyncio.to_thread(bool)


@pytest.mark.slow
async def test_a_shared_card_does_not_say_for_ever_that_a_command_runs_whose_process_died(tmp_path: Path) -> None:
    async with Office.opened() as office:
        model = ScriptedModel(writing("a.md", "one\n"), reply_text("build"), waits=True)
        async with at_work(office, model, tmp_path) as running:
            with_build(running.stage)
            chat = SlackChat(office, running, office.ana)
            await chat.new_agent("Clerk", "builds", "Build")
            await (await chat.asks("write_to_file")).press("Approve ×5")
            await office.card(2, "running")
            agent = await running.agent()
            turn = await running_turn(running.stage, agent)
            surface = running.stage.surface
            assert isinstance(surface, SlackSurface)
            office.slack.fails("chat.update", status=429, retry_after="0.05")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:  # as the sweep does
                    try:
                        await surface.show(agent, turn.interrupt(Interrupted()), may_exist=True)
                        break
                    except SurfaceBusy:
                        continue
            await office.slack.until(lambda: any("Run again" in str(card) for card in office.cards()))
            shared = text_of(office.cards()[0])
            assert "· running" not in shared, shared
