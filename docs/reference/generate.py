"""Writes commands.md, oversight.md and plugins.md: `python -m docs.reference.generate`. Tests hold them to it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.files.workspace_paths import LIMITS
from agent_core.model.command import CommandSpec
from agent_core.oversight.untrusted_content import PROCESSING_CATEGORIES
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.toolset.registry import Command, Commands
from bot.capabilities import Capabilities
from bot.settings import Settings
from docs.reference.oversight_page import OVERSIGHT_PAGE, oversight_page
from docs.reference.plugin_page import PLUGIN_PAGE, plugin_page
from docs.reference.settings_page import EXAMPLE_FILE, SETTINGS_PAGE, example_file, settings_page

PAGE = Path(__file__).parent / "commands.md"
INTRODUCTION = f"""# Commands

What an agent can do today. Each turn it asks to run one of these, and people decide; see the
[glossary](../glossary.md) for the words.

- **Risk classes** say what a command touches. A lease (Approve ×N) and *Run without asking* in the form of a new agent
  go by them. A command of two classes runs unasked only where both are allowed.
- **Arguments** are checked before anybody is asked: a call that does not fit goes back to the model with what was
  wrong.
- **The preview** is worked out before people are asked and once more before the command runs. If what it stood on
  changed in between, the turn is shown again instead. A preview that fails never reaches people.
- **Also called**: models that learned other names are understood. What runs, and what the card shows, is the proper
  name.
- **Off at first**: a setting has to allow it. An agent that asks for it anyway is told why it is off.

`DISABLED_COMMANDS` and `DISABLED_CATEGORIES` in the [settings](settings.md) take commands away from every agent.
Paths are relative to the agent's own folder and cannot leave it. A file holds at most {LIMITS.file_bytes:,} bytes, the
folder {LIMITS.workspace_bytes:,} bytes and {LIMITS.files:,} files.
"""


def every_command() -> Commands:
    """The registry of a fresh machine: nothing taken away, and what a setting has to allow off with the reason."""
    settings, database = Settings(), TemporaryDatabase()
    known = Capabilities.of(settings)
    has_git = replace(known.web, git_fault=str)  # whether this machine has git does not matter here
    capabilities = replace(known, every=tuple(has_git if each is known.web else each for each in known.every))
    ports = CorePorts(
        database=database,
        model=RehearsalModel(),
        index=InMemoryIndex(),
        surfaces=(),
        workspaces=InMemoryWorkspaces(),
    )
    return Core.assemble(ports, capabilities.commands).commands


def commands_page() -> str:
    """The whole page."""
    commands = every_command().by_name.values()
    families = dict.fromkeys(each.spec.category for each in commands)
    parts = [INTRODUCTION]
    for family in families:
        parts.append(f"## {family.capitalize()}\n")
        parts += [_described(each) for each in commands if each.spec.category == family]
    return "\n".join(parts)


def _described(command: Command) -> str:
    spec = command.spec
    rows = [
        f"### {spec.name}",
        "",
        f"{spec.description}{' Its success ends the work of the agent.' if spec.finishes else ''}",
        "",
        "| | |",
        "|---|---|",
        f"| label | {spec.label} |",
        f"| risk classes | {_listed(spec.risks)} |",
        f"| arguments | {'<br>'.join(_arguments(spec)) or 'none'} |",
        f"| preview | {command.shows or 'None; the arguments say it all.'} |",
        f"| also called | {_listed(spec.synonyms) or 'nothing else'} |",
    ]
    if spec.aliases:
        rows.append(
            f"| arguments also called | {_listed([f'{given} → {meant}' for given, meant in spec.aliases.items()])} |"
        )
    if spec.outside:
        rows.append("| what it gives | others wrote it: quoted in prompts, marked on the card |")
    elif spec.category in PROCESSING_CATEGORIES:
        rows.append("| what it gives | quoted and marked where the agent or its folder holds untrusted content |")
    if spec.asks_models:
        rows.append("| costs | calls to a model, paid from the budget |")
    if off := command.off or command.off_for(""):
        rows.append(f"| off at first | {off} |")
    return "\n".join([*rows, ""])


def _arguments(spec: CommandSpec) -> list[str]:
    arguments = cast("Mapping[str, Mapping[str, object]]", spec.parameters["properties"])
    required = cast("Sequence[str]", spec.parameters.get("required", ()))
    return [
        f"`{name}` ({_type(argument)}{'' if name in required else _optional(argument)}): {argument['description']}"
        for name, argument in arguments.items()
    ]


def _type(argument: Mapping[str, object]) -> str:
    choices = cast("Sequence[Mapping[str, str]]", argument.get("anyOf", ()))
    return str(argument.get("type") or " or ".join(choice["type"] for choice in choices))


def _optional(argument: Mapping[str, object]) -> str:
    default = argument.get("default")
    return f", {default} if left out" if default else ", may be left out"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
    OVERSIGHT_PAGE.write_text(oversight_page(), encoding="utf-8")
    PLUGIN_PAGE.write_text(plugin_page(), encoding="utf-8")
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
    EXAMPLE_FILE.write_text(example_file(), encoding="utf-8")
