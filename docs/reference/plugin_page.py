"""The text of plugins.md, from the classes themselves. `python -m docs.reference.generate` writes it."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

from agent_core.model.command import CommandSpec, Preview
from agent_core.plugins import Plugin, PluginTools
from agent_core.plugins.declaring import MAX_COMMANDS, MAX_DESCRIPTION_CHARACTERS, MAX_LABEL_CHARACTERS
from agent_core.plugins.plugin_set import MAX_GUIDANCE_CHARACTERS, MAX_GUIDANCE_LINES, OBSERVE_SECONDS
from agent_core.plugins.schemas import MAX_ARGUMENT_DESCRIPTION, MAX_ARGUMENTS, MAX_SCHEMA_CHARACTERS
from agent_core.toolset.registry import CommandContext, CommandOutput, declare

PLUGIN_PAGE = Path(__file__).parent / "plugins.md"
INTRODUCTION = """# The class Plugin

What a plugin can override and what it is given, from the code.
[Write a plugin](../how-to/write-a-plugin.md) shows how one is made and loaded.
"""
BOUNDS = (
    ("commands of a plugin", f"{MAX_COMMANDS}"),
    ("label of a command", f"one line, {MAX_LABEL_CHARACTERS} characters"),
    ("description of a command", f"one line, {MAX_DESCRIPTION_CHARACTERS} characters"),
    ("arguments of a command", f"{MAX_ARGUMENTS}"),
    ("description of an argument", f"one line, {MAX_ARGUMENT_DESCRIPTION} characters"),
    ("schema of the arguments", f"{MAX_SCHEMA_CHARACTERS:,} characters of JSON, not recursive"),
    ("guidance", f"{MAX_GUIDANCE_LINES} lines of {MAX_GUIDANCE_CHARACTERS} characters"),
    ("time to observe a turn", f"{OBSERVE_SECONDS:.0f} s"),
)
GIVEN = (PluginTools, CommandContext)
MADE = (CommandOutput, Preview, CommandSpec)


def plugin_page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## Plugin\n", _docstring(Plugin), "", "| attribute | what it is |", "|---|---|"]
    parts += [f"| `{name}` | {text} |" for name, text in _attributes()]
    parts += ["", *(_method(each) for each in _methods(Plugin))]
    parts += ["## What it is given", "", *(_class(each) for each in GIVEN)]
    parts += ["## What it makes", "", f"### declare\n\n{_signature(declare)}\n\n{_docstring(declare)}\n"]
    parts += [_class(each) for each in MADE]
    parts += ["## Bounds", "", "| of | at most |", "|---|---|", *(f"| {what} | {most} |" for what, most in BOUNDS), ""]
    return "\n".join(parts)


def _attributes() -> Iterator[tuple[str, str]]:
    """The class's attributes with the texts that stand below them in the source."""
    source = inspect.getsource(Plugin)
    for name in Plugin.__annotations__:
        after = source.partition(f'    {name}: str = ""\n    """')[2]
        yield name, " ".join(after.partition('"""')[0].split())


def _methods(kind: type) -> list[Callable[..., object]]:
    return [each for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")]


def _method(function: Callable[..., object]) -> str:
    return f"### {function.__name__}\n\n{_signature(function)}\n\n{_docstring(function)}\n"


def _class(kind: type) -> str:
    rows = [f"| `{each.name}` | `{_type_text(each.type)}` |" for each in fields(kind)]
    methods = (f"- `{each.__name__}`: {_docstring(each)}" for each in _methods(kind))
    table = "\n".join(("| field | type |", "|---|---|", *rows))
    return "\n".join((f"### {kind.__name__}\n\n{_docstring(kind)}\n\n{table}\n", *methods, ""))


def _type_text(kind: object) -> str:
    """The type without the names of modules, as a cell of a table."""
    whole = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"\b[a-z_]+(?:\.[a-z_]+)*\.(?=[A-Z])", "", whole).replace("|", "\\|")


def _signature(function: Callable[..., object]) -> str:
    parameters = [str(each) for name, each in inspect.signature(function).parameters.items() if name != "self"]
    word = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"`{word} {function.__name__}({', '.join(name.partition(':')[0] for name in parameters)})`"


def _docstring(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split())
