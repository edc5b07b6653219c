"""Plugins on a stage, for tests of what a channel sees and switches."""

from functools import partial

from agent_core.capabilities.web.pages import load_sites
from agent_core.plugins import Plugin, PluginTools
from agent_core.plugins.loaded import LoadedPlugin
from agent_core.plugins.plugin_set import PluginSet
from agent_core.testing.stage import Stage
from examples.plugins.link_checker import LinkChecker
from examples.plugins.word_counter import WordCounter


def two_plugins() -> PluginSet:
    """The word counter, and a link checker of whose commands one is left out."""
    found = PluginSet(loaded=[_loaded("word_counter", WordCounter()), _loaded("link_checker", LinkChecker())])
    found.loaded[1].remarks.append("post_link is left out: Signoff has a command of that name")
    return found


def add_plugins(stage: Stage, found: PluginSet) -> None:
    """Register the commands of the plugins, and let the stage's views name them."""
    for command in found.commands(PluginTools(load_sites=partial(load_sites, stage.database))):
        stage.commands.register(command)
    object.__setattr__(stage.views, "list_sources", found.list_sources)  # surfaces have these views already


def _loaded(name: str, plugin: Plugin) -> LoadedPlugin:
    return LoadedPlugin(name=name, version="1.0", source=f"file {name}.py", plugin=plugin)
