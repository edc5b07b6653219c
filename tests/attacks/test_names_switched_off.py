"""A reply that names no command is answered with all names, also those that the channel switched off."""

from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.plugins import add_plugins, two_plugins

UNKNOWN, TEA = reply_text("brew", {}), reply_text("write_to_file", {"filename": "tea.txt", "text": "black"})


async def test_what_is_off_in_the_channel_is_not_named_to_its_agents() -> None:
    stage = Stage(model=ScriptedModel(UNKNOWN, TEA))
    add_plugins(stage, two_plugins())
    await stage.agent_settings.set_tools(lambda now: now.turn_off(["word_counter"]), stage.origin(), "off word_counter")
    await stage.create()
    assert "count_words" not in str(stage.script.prompts[0])
    assert "count_words" not in str(stage.script.prompts[1])
