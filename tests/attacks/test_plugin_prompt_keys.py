"""Plugins of AutoGPT are not told the operator's keys, as the model is not."""

from collections.abc import Sequence

from agent_core.loop.command_runner import Extensions
from agent_core.model.model_calls import Message
from agent_core.oversight.secrets import Secrets
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext
from tests.attacks.rows import attack
from tests.attacks.test_plugin_thought_traces import TouchesOnce

SECRET = "sk-of-the-operator-4711"
TEA = reply_text("write_to_file", {"filename": "tea.txt", "text": "black"})


class Listens(TouchesOnce):
    """Hooks that note what they are told."""

    async def before_thinking(self, messages: Sequence[Message], _context: CommandContext) -> tuple[str, ...]:
        self.text += "".join(each.content for each in messages)
        return ()


@attack("plugins", "Looking for the operator's keys in a prompt", "replaced by [secret], as for the model")
async def test_a_key_that_the_model_is_not_told_is_not_told_to_plugins_either() -> None:
    hooks = Listens(TEA)
    stage = Stage(model=ScriptedModel(TEA, TEA), extensions=Extensions(thoughts=hooks), secrets=Secrets.of([SECRET]))
    await stage.create(f"Serve tea with the key {SECRET}")
    assert SECRET not in str(stage.script.prompts[0])  # the model
    assert SECRET not in hooks.text  # the plugin
