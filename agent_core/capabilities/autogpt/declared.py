"""Reads what a plugin's worker says the plugin adds: commands (types come from hints), guidance, and hooks."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_core.model.command import Arguments, CommandSpec, RiskClass
from agent_core.plugins.declaring import COMMAND_NAME
from agent_core.plugins.loaded import one_line
from agent_core.toolset.registry import Command, CommandContext, CommandOutput

RISKS: tuple[RiskClass, ...] = ("publish",)
MAX_NAME_CHARACTERS, MAX_TEXT_CHARACTERS = 64, 300
ARGUMENT = "as text"
WORD = re.compile(r"[a-z]+")
TEXT_WORDS = frozenset(("str", "string", "text"))
JSON_BEGINNINGS = {"{": "object", "[": "array"}
TYPES = {
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("float", "number"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "dictionary", "object", "json"), "object"),
    **dict.fromkeys(("list", "array"), "array"),
}

RunCommand: TypeAlias = Callable[["AddedCommand", Arguments, CommandContext], Awaitable[CommandOutput]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedCommand:
    """A command as the plugin added it. `hints`: what its argument hints say, by argument."""

    label: str
    name: str
    hints: Mapping[str, str]

    @property
    def own_name(self) -> str:
        """The name for models: the plugin's name, or its label if only that can be one; many plugins swap them."""
        fitting = [each for each in (self.name.strip(), self.label.strip()) if COMMAND_NAME.fullmatch(each)]
        return fitting[0] if fitting else _made_name(self.name) or _made_name(self.label)

    @property
    def description(self) -> str:
        other = self.label if self.own_name == self.name.strip() else self.name
        return one_line(other, MAX_TEXT_CHARACTERS) or self.own_name

    def as_command(self, run: RunCommand) -> Command:
        """The command, which the plugin's worker runs. Its arguments are optional; its result is untrusted."""
        names = dict.fromkeys(one_line(each, MAX_TEXT_CHARACTERS) for each in (self.label, self.name))
        properties = {
            name: {"type": types_of(hint), "description": hint or ARGUMENT} for name, hint in self.hints.items()
        }
        spec = CommandSpec(
            name=self.own_name,
            label=self.description,
            description=self.description,
            parameters={"type": "object", "properties": properties, "additionalProperties": False},
            risks=RISKS,
            category="plugins",
            synonyms=tuple(each for each in names if each and each != self.own_name),
            outside=True,
            is_lent_folder=True,
        )

        async def carry_out(arguments: Arguments, context: CommandContext) -> CommandOutput:
            return await run(self, arguments, context)

        return Command(spec=spec, run=carry_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginAdditions:
    """What a plugin adds. `hooks`: those that it handles. `answers`: whether it may answer in place of the model.

    `embeds`: whether it may embed texts.
    """

    commands: tuple[AddedCommand, ...] = ()
    guidance: tuple[str, ...] = ()
    hooks: frozenset[str] = frozenset()
    answers: bool = False
    embeds: bool = False

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "PluginAdditions":
        """Read a worker's answer, which the plugin may have forged: what is not as it should be is left out."""
        return cls(
            commands=tuple(_commands(answer.get("commands"))),
            guidance=tuple(
                text
                for kind in ("constraints", "resources", "performance_evaluation")
                for text in _texts(answer.get(kind))
            ),
            hooks=frozenset(_texts(answer.get("hooks"))),
            answers=answer.get("answers") is True,
            embeds=answer.get("embeds") is True,
        )


def types_of(hint: str) -> str | list[str]:
    """The JSON types of an argument by its hint, which is all that plugins of AutoGPT say of it; else a text.

    A hint that begins with a type, such as <int> or <dict: …>, or that is a JSON object or list, means that type. One
    that only speaks of a number may also mean a text of digits: the value stays as the model writes it.
    """
    words = WORD.findall(hint.casefold())
    if TEXT_WORDS.intersection(words):
        return "string"
    if hint.strip()[:1] in JSON_BEGINNINGS and (found := _json_type(hint)):
        return found
    named = [TYPES[word] for word in words if word in TYPES]
    if not named:
        return "string"
    return named[0] if words[0] in TYPES and words[0] != "number" else [named[0], "string"]


def _json_type(hint: str) -> str:
    try:
        return JSON_BEGINNINGS[hint.strip()[0]] if json.loads(hint) is not None else ""
    except (ValueError, RecursionError):
        return ""


def _commands(given: object) -> Iterator[AddedCommand]:
    for each in given if isinstance(given, list) else ():
        match each:
            case {"label": str(label), "name": str(name), "arguments": dict(hints)} if _are_texts(hints):
                yield AddedCommand(label=label, name=name, hints=hints)


def _are_texts(hints: dict[Any, Any]) -> bool:
    return all(isinstance(each, str) for each in (*hints, *hints.values()))


def _texts(given: object) -> list[str]:
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _made_name(text: str) -> str:
    """A name of letters, digits and `_` made from a text in which other characters stand; "" if nothing is left."""
    made = re.sub(r"[^a-z0-9]+", "_", text.casefold(), flags=re.ASCII).strip("_")[:MAX_NAME_CHARACTERS]
    return f"_{made}"[:MAX_NAME_CHARACTERS] if made[:1].isdigit() else made
