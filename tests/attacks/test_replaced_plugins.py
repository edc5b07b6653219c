"""A card of one plugin's command, approved after a restart at which another plugin, or version, has that name."""

from dataclasses import replace

import pytest

from agent_core.model.decision import Approve
from agent_core.plugins import Plugin, PluginTools
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.registration import PluginSet
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, NoArguments, declare
from tests.plugins import add_plugins

POUR = reply_text("pour", {})


class Pours(Plugin):
    """A plugin with one command, which notes who ran."""

    def __init__(self, title: str, ran: list[str]) -> None:
        self.title, self.ran = title, ran

    def commands(self, tools: PluginTools) -> list[Command]:
        async def pour(_given: NoArguments, _context: CommandContext) -> CommandOutput:
            self.ran.append(self.title)
            return CommandOutput(text="poured")

        made = declare(NoArguments, pour, label="Pour", risks=("network",), category="plugins")
        return [replace(made, spec=replace(made.spec, description=f"Pour, as {self.title} does."))]


@pytest.mark.parametrize(("name", "version"), [("Tea", "sha256:bbbb"), ("Other", "sha256:cccc")])
async def test_an_approval_runs_the_plugin_that_the_card_named(name: str, version: str) -> None:
    ran: list[str] = []

    def stage_with(name: str, version: str, **ports: object) -> Stage:
        stage = Stage(model=ScriptedModel(POUR, POUR), **ports)  # type: ignore[arg-type]
        plugin = Pours(f"{name} {version}", ran)
        loaded = LoadedPlugin(name=name, version=version, source=f"zip {name}.zip", plugin=plugin)
        add_plugins(stage, PluginSet(loaded=[loaded]))
        return stage

    before = stage_with("Tea", "sha256:aaaa")
    agent = await before.create()
    shown = await before.turn(agent)
    assert shown.source == "Tea sha256:aaaa"
    after = stage_with(name, version, database=before.database, workspaces=before.workspaces)
    await after.decide(agent, Approve())
    await after.wait_until_settled(agent)
    _, turn = await after.views.turn(CHANNEL, shown.id)
    assert ran == [], f"the card named {turn.source}; {ran[0]} ran"
