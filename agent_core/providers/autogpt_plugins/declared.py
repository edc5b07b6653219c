"""What a plugin of AutoGPT adds, read from what its worker answered, and made commands and lines of Signoff."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_core.commands.registry import Command, CommandContext, CommandOutput
from agent_core.model.command import Arguments, CommandSpec, RiskClass
from agent_core.plugins.declaring import COMMAND_NAME
from agent_core.plugins.loaded import one_line

RISKS: tuple[RiskClass, ...] = ("publish",)
MAX_NAME_CHARACTERS, MAX_TEXT_CHARACTERS = 64, 300
ARGUMENT = "as text"

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
        """The command, which the plugin's worker runs. Its arguments are optional texts; its result is untrusted."""
        names = dict.fromkeys(one_line(each, MAX_TEXT_CHARACTERS) for each in (self.label, self.name))
        properties = {name: {"type": "string", "description": hint or ARGUMENT} for name, hint in self.hints.items()}
        spec = CommandSpec(
            name=self.own_name,
            label=self.description,
            description=self.description,
            parameters={"type": "object", "properties": properties, "additionalProperties": False},
            risks=RISKS,
            category="plugins",
            synonyms=tuple(each for each in names if each and each != self.own_name),
            outside=True,
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
