"""Every category of commands is known to prompts: a small model is offered a category by its words alone."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.models.capability import make_model
from agent_core.prompt.small_model_commands import CATEGORY_HINTS, COMMAND_HINTS
from agent_core.prompt.system import RESOURCES
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.toolset.registry import Command, Commands, declare
from bot.capabilities import Capabilities
from bot.settings import Settings, load
from bot.wiring.models import demo_model
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


def commands_of(settings: Settings) -> Commands:
    """The commands of an installation with these settings."""
    ports = CorePorts(
        database=TemporaryDatabase(),
        model=make_model(settings, demo_model),
        index=InMemoryIndex(),
        surfaces=(),
        workspaces=InMemoryWorkspaces(),
    )
    return Core.assemble(ports, Capabilities.of(settings).commands).commands


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "no search service is set. BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL would bring one"),
        ({"BRAVE_API_KEY": "k"}, ""),
        ({"ALLOW_SEARCH_SCRAPING": "true"}, ""),
    ],
)
def test_the_web_is_searched_where_a_service_is_set(tmp_path: Path, variables: dict[str, str], why: str) -> None:
    google = commands_of(load({"SIGNOFF_HOME": str(tmp_path), **variables}, None)).by_name["google"]
    assert google.off[: len(why)] == why
    assert bool(google.off) == bool(why)


@pytest.mark.parametrize(
    ("variables", "model", "why"),
    [
        ({}, "", "only a model at an endpoint can take pictures"),
        ({"OPENAI_API_KEY": "sk-1"}, "", ""),
        ({"OPENAI_API_KEY": "sk-1"}, "gpt-3.5-turbo", "the agent's model takes no pictures, as far as is known"),
        ({"OPENAI_API_KEY": "sk-1", "VISION": "on"}, "gpt-3.5-turbo", ""),
        ({"OPENAI_API_KEY": "sk-1", "VISION": "off"}, "", "the operator lets no model see pictures here (VISION)"),
        ({"ANTHROPIC_API_KEY": "sk-1"}, "", ""),
        ({"ANTHROPIC_API_KEY": "sk-1", "VISION": "off"}, "", "the operator lets no model see pictures here (VISION)"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "SMART_MODEL": "llava"}, "", ""),
    ],
)
def test_pictures_are_for_agents_whose_model_sees(
    tmp_path: Path, variables: dict[str, str], model: str, why: str
) -> None:
    commands = commands_of(load({"SIGNOFF_HOME": str(tmp_path), **variables}, None))
    assert commands.get("view_image").off_for(model).startswith(why)
    assert ("view_image" in [spec.name for spec in commands.specs_for(model)]) == (not why)
