"""What Approve ×N does not cover though it covers the class: named where N is chosen, on every surface."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.commands.registry import CommandContext, NoArguments, declare
from agent_core.model.tool_switches import TOOLS_KEY, ToolSwitches, serialise_tool_switches
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.discord_app import parts_of
from tests.scenario.member import GuildCard, GuildChat, pressed
from tests.scenario.page import PageChat, text_of
from tests.scenario.surfaces import Name, Scene, opened
from tests.scenario.team import SlackCard
from tests.scenario.terminal_driver import DeskChat

NAMES = ("tea.pour", "tea.brew", "milk.pour", "tea.serve", "tea.post")
SAID = "Asks each time: tea.pour, tea.brew, tea.serve."


async def pour(_given: NoArguments, _context: CommandContext) -> str:
    """Pour."""
    return "poured"


def offer(stage: Stage) -> None:
    """Tools of two servers that ask each time, of which one leaves the team; one server is off in each channel."""
    tool = declare(NoArguments, pour, label="Pour", risks=("network",), category="tools", always_asks=True)
    for name in NAMES:
        spec = replace(tool.spec, name=name, source=name.partition(".")[0])
        leaves = replace(spec, risks=("publish",)) if name == "tea.post" else spec
        stage.commands.register(replace(tool, spec=leaves))


async def sheet(scene: Scene) -> str:
    """What is read where N is chosen."""
    ana = scene.ana
    card = await ana.asks("write_to_file")
    if isinstance(ana, PageChat):
        return text_of(await ana.page())
    if isinstance(card, SlackCard):
        return json.dumps(card.message["blocks"])
    if isinstance(ana, GuildChat) and isinstance(card, GuildCard):
        opened = await pressed(ana.person, card.message, "Another number…")
        options = [each for part in parts_of(card.message) for each in part.get("options") or ()]
        return f"{options[-1]['description']} {opened.modal}" if options[-1]["description"] == SAID else "not named"
    assert isinstance(ana, DeskChat)
    ana.type("?")
    await ana.sees("in total")
    return " ".join(ana.output.replace("│", " ").replace("┊", " ").split())


@pytest.mark.proves("lease:asks")
@pytest.mark.parametrize("surface", ["web", "terminal", "slack-http", "discord"])
async def test_what_asks_all_the_same_is_named_where_n_is_chosen(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(writing("a.md", "a")), tmp_path, offer) as scene:
        async with scene.stage.database.begin() as work:
            work.preferences.put(scene.channel, TOOLS_KEY, serialise_tool_switches(ToolSwitches(off=("milk",))))
            await work.commit()
        await scene.ana.new_agent("Clerk", "keeps notes", "Write notes")
        assert SAID in await sheet(scene)
