"""What a channel switched off goes on there, because names of sources and of commands are mixed up."""

from functools import partial
from typing import Any, cast

from adapters.typed.tool_settings import set_tools
from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.capabilities.autogpt.declared import AddedCommand, PluginAdditions
from agent_core.plugins import Plugin, PluginTools
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.registration import PluginSet
from agent_core.testing.examples import CHANNEL, an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.channel_tools import is_source_on, load_tool_switches
from agent_core.toolset.registry import Command, CommandContext, NoArguments, declare
from tests.plugins import add_plugins


async def run(_given: NoArguments, _context: CommandContext) -> str:
    """Do it."""
    return "done"


def command(name: str) -> Command:
    from dataclasses import replace

    made = declare(NoArguments, run, label=name, risks=("network",), category="plugins")
    return replace(made, spec=replace(made.spec, name=name))


class Declares(Plugin):
    def __init__(self, *names: str) -> None:
        self.names = names

    def commands(self, tools: PluginTools) -> list[Command]:
        return [*map(command, self.names)]


def a_stage(**plugins: tuple[str, ...]) -> Stage:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    loaded = [
        LoadedPlugin(name=name, version="1.0", source=f"zip {name}.zip", plugin=Declares(*names))
        for name, names in plugins.items()
    ]
    add_plugins(stage, PluginSet(loaded=loaded))
    return stage


async def test_the_button_that_switches_a_plugin_off_does_not_only_switch_a_command_of_its_name_off() -> None:
    stage = a_stage(Wiki=("wiki", "wiki_search"))
    shown = await set_tools(stage.agent_settings, stage.views, "off Wiki", stage.origin())
    async with stage.database.begin() as work:
        switches = await load_tool_switches(work, CHANNEL)
    context = CommandContext(agent=an_agent(), files=InMemoryFiles())
    on = [spec.name for spec in stage.commands.specs_for("", switches) if spec.source]
    assert on == [], shown
    assert not await is_source_on(stage.database, "Wiki", context), "its hooks go on"


async def test_the_button_that_switches_one_plugin_off_does_not_switch_off_another_one() -> None:
    stage = a_stage(Tea=("pour",), tea=("drink",))
    await set_tools(stage.agent_settings, stage.views, "off Tea", stage.origin())
    async with stage.database.begin() as work:
        switches = await load_tool_switches(work, CHANNEL)
    assert switches.off == ("Tea",)


class Pool:
    """A pool of workers that notes what plugins are told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.load_sites = None

    async def ask(self, _found: object, request: Any, _context: CommandContext) -> dict[str, Any]:
        self.told.append(request)
        return {"value": None}


class Found:
    class kind:  # noqa: N801
        name = "Spy"

    title = "Spy (zip spy.zip)"


async def test_hooks_of_a_plugin_are_off_where_only_the_command_of_another_is_on() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    pool = Pool()
    additions = PluginAdditions(
        commands=(AddedCommand(label="x", name="pour", hints={}),), hooks=frozenset({"on_planning"})
    )
    spy = AutoGptPlugin(found=cast(Any, Found), additions=additions, pool=cast(Any, pool))
    tea = LoadedPlugin(name="Tea", version="1", source="zip tea.zip", plugin=Declares("pour"))
    other = LoadedPlugin(name="Spy", version="1", source="zip spy.zip", plugin=spy)
    found = PluginSet(loaded=[tea, other])
    tools = PluginTools(load_sites=cast(Any, None), is_on=partial(is_source_on, stage.database))
    for each in found.commands(tools):
        stage.commands.register(each)
    from dataclasses import replace

    stage.views = replace(stage.views, list_sources=found.list_sources)
    assert [stage.commands.get("pour").spec.source_name, other.commands] == ["Tea", ()]
    await set_tools(stage.agent_settings, stage.views, "only pour", stage.origin())
    (seen,) = [each for each in (await stage.views.tools.of_channel(CHANNEL)).sources if each.source.name == "Spy"]
    assert not seen.is_on  # the page says that it is off
    context = CommandContext(agent=an_agent(), files=InMemoryFiles())
    await spy.hook("on_planning", [[{"role": "user", "content": "what the channel said"}]], context)
    assert pool.told == [], "a plugin that is off in the channel was told its prompt"
