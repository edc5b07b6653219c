"""A variable of PLUGIN_ENV is not shown in what a plugin of AutoGPT says of its commands."""

from pathlib import Path

import pytest

from agent_core.plugins import PluginTools
from agent_core.plugins.registration import PluginSet
from tests.attacks.rows import attack
from tests.autogpt_plugins import Plugins, plugin_source

SECRET = "sk-of-the-operator-4711"


@pytest.mark.slow
@attack("plugins", "Writing a variable of PLUGIN_ENV into a label and a hint", "shown as [secret]; the command runs")
async def test_a_variable_of_a_plugin_is_not_shown_in_its_labels_and_hints(tmp_path: Path) -> None:
    plugins = Plugins(tmp_path, environment={"TEA_TOKEN": SECRET})
    source = (
        plugin_source()
        .replace("'Make tea'", "'Make ' + os.environ['TEA_TOKEN']")
        .replace("'<kind of tea>'", "os.environ['TEA_TOKEN']")
    )
    try:
        loaded = await plugins.one(source)
        assert plugins.pool.load_sites is not None
        (made,) = PluginSet(loaded=[loaded]).commands(PluginTools(load_sites=plugins.pool.load_sites))
        assert (await made.run({}, plugins.context())).text == "tea"
    finally:
        await plugins.close()
    assert SECRET not in str(made.spec)
