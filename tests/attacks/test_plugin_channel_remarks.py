"""What a plugin raises in one channel is not shown on the page Tools and plugins of another."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.model.origin import ChannelScope
from agent_core.plugins import PluginTools
from agent_core.plugins.registration import PluginSet
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.attacks.rows import attack
from tests.autogpt_plugins import Plugins, plugin_source

WORDS = "we buy the tea shop in May"
RAISES = """
def can_handle_on_planning(self):
    return True
def on_planning(self, prompt, messages):
    raise RuntimeError(messages[-1]['content'])
"""


@pytest.fixture
async def plugins(tmp_path: Path) -> AsyncIterator[Plugins]:
    made = Plugins(tmp_path)
    yield made
    await made.close()


@pytest.mark.slow
@attack("plugins", "Raising what one channel said, for the page of another", "only the kind of failure is shown there")
@pytest.mark.proves("autogpt:sealed")
async def test_a_channel_is_not_shown_what_was_said_in_another(plugins: Plugins) -> None:
    loaded = await plugins.one(plugin_source(rest=RAISES))
    plugin, sites = loaded.plugin, plugins.pool.load_sites
    assert isinstance(plugin, AutoGptPlugin)
    assert sites is not None
    found = PluginSet(loaded=[loaded])
    found.commands(PluginTools(load_sites=sites))
    await plugin.hook("on_planning", [[{"role": "user", "content": WORDS}]], plugins.context())  # channel general
    stage = Stage(model=ScriptedModel())
    stage.views = replace(stage.views, list_sources=found.list_sources)
    elsewhere = await stage.views.tools.of_channel(ChannelScope("web", "local", "elsewhere"))
    assert "on_planning is left out: it raised RuntimeError" in str(elsewhere)
    assert WORDS not in str(elsewhere)
