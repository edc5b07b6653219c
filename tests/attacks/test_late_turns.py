"""A turn whose card could not be edited in time, shown later: the newer turns on its card stay there."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from adapters.slack.outbound.surface import SlackSurface
from agent_core.commands.registry import Command, CommandContext, declare
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.slack_app import Office, Running, at_work, text_of
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


async def all_shown(running: Running) -> None:
    """Wait until the sweep has shown every turn as it is."""
    agent = await running.agent()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with running.stage.database.begin() as work:
                if not await work.turns.list_unshown(agent):
                    return


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
            await all_shown(running)
            shared = text_of(office.cards()[0])
            assert [word for word in ("cedar", "elm", "fir") if word in shared] == ["cedar", "elm", "fir"], shared
