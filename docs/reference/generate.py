"""Writes commands.md from the registry: `python -m docs.reference.generate`. A test holds the page to this."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from agent_core.commands.registry import Commands
from agent_core.memory.longterm import LongTermMemory
from agent_core.model.command import CommandSpec
from agent_core.providers.clock import SystemClock
from agent_core.providers.hashing_embedder import HashingEmbedder
from agent_core.providers.paths import LIMITS
from agent_core.providers.search import MetaSearch
from agent_core.testing.database import InMemoryDatabase
from agent_core.testing.index import InMemoryIndex
from bot.bootstrap import make_commands, own_commands
from bot.settings import Settings

PAGE = Path(__file__).parent / "commands.md"
INTRODUCTION = f"""# Commands

What an agent can do today. Each turn it asks to run one of these, and people decide; see the
[glossary](../glossary.md) for the words.

- **Risk classes** say what a command touches. A lease (Approve ×N) and *Run without asking* in the form of a new agent
  go by them. Today's commands are of class `read`, `write` or `network`; `execute`, `publish` and `spend` are there
  for those that come later.
- **Arguments** are checked before anybody is asked: a call that does not fit goes back to the model with what was
  wrong.
- **The preview** is worked out before people are asked and once more before the command runs. If what it stood on
  changed in between, the turn is shown again instead. A preview that fails never reaches people.
- **Also called**: models that learned other names are understood. What runs, and what the card shows, is the proper
  name.

`DISABLED_COMMANDS` and `DISABLED_CATEGORIES` in the [settings](settings.md) take commands away from every agent.
Paths are relative to the agent's own folder and cannot leave it. A file holds at most {LIMITS.file_bytes:,} bytes, the
folder {LIMITS.workspace_bytes:,} bytes and {LIMITS.files:,} files.
"""

# What a person sees before deciding, beside the arguments. A test runs every preview and compares.
PREVIEWS: Mapping[str, str] = {
    "write_to_file": "the change as a unified diff; refused where nothing would change",
    "append_to_file": "the new lines as a unified diff, under the file's last ones",
    "delete_file": "the file's size, and its text if that is short",
}
CHECKS: Mapping[str, str] = {
    "read_file": "none; a file that cannot be read is told to the model before anybody is asked",
    "list_files": "none; a folder that is not there is told to the model before anybody is asked",
}


def every_command() -> Commands:
    """The registry with nothing switched off; what its commands reach is not asked for anything."""
    database = InMemoryDatabase()
    memory = LongTermMemory(database=database, embedder=HashingEmbedder(), index=InMemoryIndex())
    return make_commands(Settings(), *own_commands(MetaSearch(), memory, SystemClock()))


def commands_page() -> str:
    """The whole page."""
    specs = every_command().specs
    families = dict.fromkeys(spec.category for spec in specs)
    parts = [INTRODUCTION]
    for family in families:
        parts.append(f"## {family.capitalize()}\n")
        parts += [_described(spec) for spec in specs if spec.category == family]
    return "\n".join(parts)


def _described(spec: CommandSpec) -> str:
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
        f"| preview | {PREVIEWS.get(spec.name) or CHECKS.get(spec.name) or 'none; the arguments say it all'} |",
        f"| also called | {_listed(spec.synonyms) or 'nothing else'} |",
    ]
    if spec.aliases:
        rows.append(
            f"| arguments also called | {_listed([f'{given} → {meant}' for given, meant in spec.aliases.items()])} |"
        )
    return "\n".join([*rows, ""])


def _arguments(spec: CommandSpec) -> list[str]:
    arguments = cast("Mapping[str, Mapping[str, object]]", spec.parameters["properties"])
    required = cast("Sequence[str]", spec.parameters.get("required", ()))
    return [
        f"`{name}` ({argument['type']}{'' if name in required else _optional(argument)}): {argument['description']}"
        for name, argument in arguments.items()
    ]


def _optional(argument: Mapping[str, object]) -> str:
    default = argument.get("default")
    return f", {default} if left out" if default else ", may be left out"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


if __name__ == "__main__":
    PAGE.write_text(commands_page(), encoding="utf-8")
