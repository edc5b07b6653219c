"""A turn whose card could not be edited in time, shown later: the newer turns on its card stay there."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from adapters.slack.outbound.surface import SlackSurface
from agent_core.model.agent import Agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, declare
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as in_guild
from tests.scenario.discord_app import text_of as guild_text
from tests.scenario.member import GuildChat
from tests.scenario.slack_app import Office, at_work, text_of
from tests.scenario.team import SlackChat


class Nothing(BaseModel):
    """No arguments."""


async def soon(holds: Callable[[], bool]) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.to_thread(bool)


async def busy_once(surface: SlackSurface) -> None:
    """Wait until Slack has told that it is busy, and is so no longer."""
    gates = surface.calls.gates
    await soon(lambda: bool(gates))
    await soon(lambda: all(gate.until <= surface.calls.clock.now() for gate in gates.values()))


async def all_shown(stage: Stage, agent: Agent) -> None:
    """Wait until the sweep has shown every turn as it is."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with stage.database.begin() as work:
                if not await work.turns.list_unshown(agent):
                    return
            await asyncio.to_thread(bool)


@pytest.mark.slow
@pytest.mark.proves("attention:one-card")
async def test_a_busy_slack_does_not_take_the_newest_commands_off_a_shared_card(tmp_path: Path) -> None:
    """Slack is busy when turn 2 ends. Turns 3 to 5 run on the same card; then the sweep shows the end of turn 2."""
    built = asyncio.Event()

    async def build(_given: Nothing, _context: CommandContext) -> str:
        """Build until the test says so."""
        await built.wait()
        return "built"

    async with Office.opened() as office:
        model = ScriptedModel(writing("a.md", "one\n"), reply_text("build"), waits=True)
        async with at_work(office, model, tmp_path) as running:
            command: Command = declare(Nothing, build, label="Build", risks=("write",), category="files")
            running.stage.commands.register(command)
            chat = SlackChat(office, running, office.ana)
            await chat.new_agent("Clerk", "builds", "Build")
            await (await chat.asks("write_to_file")).press("Approve ×5")
            await office.card(2, "running")
            surface = running.stage.surface
            assert isinstance(surface, SlackSurface)
            office.slack.fails("chat.update", status=429, retry_after="0.5")
            built.set()
            await busy_once(surface)
            model.say(*(writing(f"{word}.md", f"{word} grows\n") for word in ("cedar", "elm", "fir", "ivy")))
            await office.card(6)
            await all_shown(running.stage, await running.agent())
            shared = text_of(office.cards()[0])
            assert [word for word in ("cedar", "elm", "fir") if word in shared] == ["cedar", "elm", "fir"], shared


@pytest.mark.proves("attention:one-card")
async def test_on_discord_a_turn_shown_late_leaves_the_newest_commands_on_their_card(tmp_path: Path) -> None:
    async with Guild.opened() as guild:
        words = ("alder", "birch", "cedar", "dogwood")
        model = ScriptedModel(*(writing(f"{word}.md", f"{word} grows\n") for word in words))
        async with in_guild(guild, model, tmp_path) as running:
            chat = GuildChat(guild, running, guild.person("ana"))
            await chat.new_agent("Clerk", "keeps notes", "Write notes")
            await (await chat.asks("write_to_file")).press("Approve ×3")
            await chat.asks("write_to_file")
            agent, stage = await running.agent(), running.stage
            await all_shown(stage, agent)
            async with stage.database.begin() as work:
                late = (await work.turns.of(agent, last=4))[1]
            assert await stage.surface.show(agent, late, may_exist=True) == late.shown_as
            shared = guild_text(await guild.message("alder.md"))
            assert [word for word in words if f"{word}.md" in shared] == [*words[:3]], shared
