"""What a plugin's worker answers, within its limit of bytes, does not hold up the event loop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.oversight.secrets import Secrets
from agent_core.plugins import PluginTools
from agent_core.plugins.registration import PluginSet
from tests.attacks.heartbeat import Heartbeat
from tests.attacks.rows import attack
from tests.autogpt_plugins import Plugins, plugin_source

LONGEST_PAUSE = 0.1
LISTS = attack("plugins", "Answering with 2 MB of empty lists", "its worker is ended before they are read")
GIVES = """
def can_handle_on_planning(self):
    return True
def on_planning(self, prompt, messages):
    return {answer}
"""


@pytest.fixture
async def plugins(tmp_path: Path) -> AsyncIterator[Plugins]:
    made = Plugins(tmp_path)
    yield made
    await made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "is_taken"),
    [
        pytest.param("[[] for _ in range(480_000)]", False, marks=LISTS),
        ("[[] for _ in range(39_000)]", True),
        ("['tea'] * 220_000", True),
    ],
)
async def test_an_answer_of_two_megabytes_does_not_hold_up_the_loop(
    plugins: Plugins, answer: str, is_taken: bool
) -> None:
    loaded = await plugins.one(plugin_source(rest=GIVES.format(answer=answer)))
    plugin, sites = loaded.plugin, plugins.pool.load_sites
    assert isinstance(plugin, AutoGptPlugin)
    assert sites is not None
    plugin.secrets = Secrets.of(["a-key-of-plugins"])
    PluginSet(loaded=[loaded]).commands(PluginTools(load_sites=sites))
    with Heartbeat() as beat:
        await plugin.hook("on_planning", [[]], plugins.context())
    assert plugin.has("on_planning") == is_taken
    assert beat.longest < LONGEST_PAUSE
