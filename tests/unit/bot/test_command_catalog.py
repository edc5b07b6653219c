"""Every category of commands is known to prompts: a small model is offered a category by its words alone."""

from collections.abc import Sequence

import pytest

from agent_core.commands.registry import Command, declare
from agent_core.prompt.small_model_commands import CATEGORY_HINTS, COMMAND_HINTS
from agent_core.prompt.system import RESOURCES
from docs.reference.generate import every_command
from examples.own_command.replace_text import Replacement, replace_text

HOW_TO = "docs/how-to/add-a-command.md says more"
# Categories without words of their own, and why.
NO_HINTS = {"finish": "finishing and waiting are offered to every model"}
NO_RESOURCES = {
    "code": "the descriptions of its commands say it all",
    "shell": "the descriptions of its commands say it all",
    "media": "the descriptions of its commands say it all",
    "finish": "it ends the work and brings nothing",
    "publish": "the descriptions of its commands say it all",
}


def faults(commands: Sequence[Command]) -> list[str]:
    """What is to be added for each category, and where."""
    categories = dict.fromkeys(command.spec.category for command in commands)
    hints = [
        f"{each}: add words of goals to CATEGORY_HINTS in agent_core/prompt/small_model_commands.py; without them a "
        f"small model is hardly ever offered it. {HOW_TO}"
        for each in categories
        if each not in CATEGORY_HINTS and each not in NO_HINTS
    ]
    resources = [
        f"{each}: add a line to RESOURCES in agent_core/prompt/system.py, or a reason to NO_RESOURCES here. {HOW_TO}"
        for each in categories
        if each not in RESOURCES and each not in NO_RESOURCES
    ]
    return [*hints, *resources]


def test_every_category_has_hints_and_a_resource() -> None:
    commands = [*every_command().by_name.values()]
    assert faults(commands) == []
    categories = {command.spec.category for command in commands}
    assert categories >= {*CATEGORY_HINTS, *RESOURCES, *NO_HINTS, *NO_RESOURCES}
    assert {command.spec.name for command in commands} >= {*COMMAND_HINTS}


@pytest.mark.parametrize(
    "part", ["CATEGORY_HINTS in agent_core/prompt/small_model_commands.py", "RESOURCES in agent_core/prompt"]
)
def test_a_command_of_a_new_category_is_told_where_its_words_belong(part: str) -> None:
    command = declare(Replacement, replace_text, label="Water plants", risks=("write",), category="unheard of")
    assert any(said.startswith("unheard of: ") and part in said for said in faults([command]))
