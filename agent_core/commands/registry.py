"""Commands by name: declaring one, finding one, and checking that a call can run."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from agent_core.commands.arguments import allowed_arguments_text, fit_arguments, normalise_name
from agent_core.errors import CommandError, UnusableReply
from agent_core.model.agent import Agent
from agent_core.model.command import Arguments, CommandCall, CommandSpec, Preview
from agent_core.oversight.untrusted_content import brings_in, takes_in_unseen
from agent_core.ports.world import Files
from agent_core.spending.spending_tracker import SpendingTracker

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

Given = TypeVar("Given", bound=BaseModel)
MAX_FAULT_CHARACTERS = 300


def ignore_report(_text: str) -> None:
    """Where nobody watches a command run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """What a command may use: the agent it runs for, that agent's own files, and what it may spend on models.

    `report` shows people what a long run has given so far: each call replaces what the one before showed. `approved` is
    the preview that the decision was checked against: a command that touches anything else than it stands on refuses.
    """

    agent: Agent
    files: Files
    tracker: SpendingTracker = field(default_factory=SpendingTracker)
    report: Callable[[str], None] = ignore_report
    approved: Preview | None = None

    @property
    def approved_basis(self) -> str | None:
        """What the approved preview stood on; None where there was no preview."""
        return self.approved.basis if self.approved else None

    async def check_file(self, path: str) -> None:
        """Raise CommandError where the file is not the one that the approved preview stood on."""
        if self.approved_basis is not None and await self.files.fingerprint(path) != self.approved_basis:
            raise CommandError(f"{path} changed after this was approved, so it was not used. Propose this again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """What a command gave besides text: `files` of the workspace are offered in the thread, pictures shown.

    `outside` says that the text holds others' words although the command's spec does not say so of each of its runs.
    """

    text: str
    files: tuple[str, ...] = ()
    outside: bool = False


Run: TypeAlias = Callable[[Arguments, CommandContext], Awaitable[CommandOutput]]
PreviewFunction: TypeAlias = Callable[[Arguments, CommandContext], Awaitable[Preview | None]]


async def no_preview(_arguments: Arguments, _context: CommandContext) -> None:
    """The preview of a command whose arguments say it all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A spec with what carries it out. Both functions raise CommandError with a sentence for the model.

    `preview` is worked out before people are asked and again before the command runs; it changes nothing. `shows`
    says what people see of it. `off` says why no agent has it here and what would switch it on.
    """

    spec: CommandSpec
    run: Run
    preview: PreviewFunction = no_preview
    shows: str = ""
    off: str = ""

    def switched(self, off: str) -> "Command":
        """The same command, off for this reason; on without one."""
        return replace(self, off=off)


def declare(
    given: type[Given],
    run: Callable[[Given, CommandContext], Awaitable[str | CommandOutput]],
    preview: Callable[[Given, CommandContext], Awaitable[Preview | None]] | None = None,
    **facts: Any,
) -> Command:
    """A command from typed functions: its name and description are those of `run`, its parameters are `given`."""

    async def carry_out(arguments: Arguments, context: CommandContext) -> CommandOutput:
        produced = await run(_validated(given, arguments), context)
        return produced if isinstance(produced, CommandOutput) else CommandOutput(text=produced)

    async def preview_call(arguments: Arguments, context: CommandContext) -> Preview | None:
        return await preview(_validated(given, arguments), context) if preview else None

    spec = CommandSpec(name=run.__name__, description=_docstring_of(run), parameters=_schema(given), **facts)
    return Command(spec=spec, run=carry_out, preview=preview_call, shows=_docstring_of(preview))


def _docstring_of(function: object) -> str:
    return " ".join((getattr(function, "__doc__", None) or "").split()) if function else ""


def _validated(given: type[Given], arguments: Arguments) -> Given:
    try:
        return given.model_validate(arguments)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise CommandError(f"The arguments cannot be used: {faults}.") from None


def _schema(given: type[BaseModel]) -> dict[str, object]:
    schema = given.model_json_schema()
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
    return {"type": "object", "properties": {}, **schema, "title": given.__name__, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands an agent may use. More can be registered while the process runs."""

    by_name: dict[str, Command] = field(default_factory=dict)

    @classmethod
    def of(cls, *commands: Command) -> "Commands":
        """A registry of these commands."""
        registry = cls()
        for command in commands:
            registry.register(command)
        return registry

    def register(self, command: Command) -> None:
        """Add a command; raise ValueError when its name or a synonym is taken."""
        for name in (command.spec.name, *command.spec.synonyms):
            if self._found(name):
                raise ValueError(f"There is a command {name} already.")
        self.by_name[command.spec.name] = command

    def get(self, name: str) -> Command:
        """The command of that name; raise UnusableReply when there is none, or it is switched off."""
        command = self._found(name)
        if command is None:
            near = self._near(name)
            hint = f" Did you mean {near}?" if near else ""
            names = ", ".join(spec.name for spec in self.specs)
            brief = f"there is no command {name[:80]!r}.{hint}"
            raise UnusableReply(f"{brief} Commands are: {names}.", brief)
        if command.off:
            raise UnusableReply(f"{command.spec.name} is switched off here: {command.off}")
        return command

    def finishes(self, name: str) -> bool:
        """Whether success of the command of that name ends the agent's work."""
        command = self._found(name)
        return command is not None and command.spec.finishes

    def waits(self, name: str) -> bool:
        """Whether an agent waits for its helpers after the command of that name."""
        command = self._found(name)
        return command is not None and command.spec.waits

    @property
    def specs(self) -> tuple[CommandSpec, ...]:
        """Those that are on, as the model is told, in the order they were registered."""
        return tuple(command.spec for command in self.by_name.values() if not command.off)

    def checked(self, call: CommandCall) -> CommandCall:
        """The call under its proper names; raise UnusableReply when it names no command or its arguments do not fit."""
        spec = self.get(call.name).spec
        arguments = fit_arguments(spec, call.arguments)
        if faults := argument_faults(spec, arguments):
            raise UnusableReply(
                f"{spec.name}: {' '.join(faults)} {allowed_arguments_text(spec)}", f"{spec.name}: {faults[0]}"
            )
        return CommandCall(spec.name, arguments)

    def _found(self, name: str) -> Command | None:
        if command := self.by_name.get(name):
            return command
        return next((command for command in self.by_name.values() if normalise_name(name) in _names(command)), None)

    def _near(self, name: str) -> str:
        names = {other: command.spec.name for command in self.by_name.values() for other in _names(command)}
        return next((names[other] for other in get_close_matches(normalise_name(name[:80]), names, n=1)), "")


def may_return_untrusted(commands: Commands, name: str, agent: Agent) -> bool:
    """Whether the result of the command of that name may contain untrusted content; of one that is gone it may."""
    command = commands.by_name.get(name)
    return command is None or brings_in(command.spec, agent)


def expose_after_interruption(commands: Commands, name: str, agent: Agent) -> Agent:
    """The agent after the command of that name was cut short; of one that is gone everything is assumed."""
    command = commands.by_name.get(name)
    return takes_in_unseen(agent, command.spec) if command else agent.expose()


def _names(command: Command) -> list[str]:
    return [normalise_name(name) for name in (command.spec.name, *command.spec.synonyms)]


def argument_faults(spec: CommandSpec, arguments: Arguments) -> list[str]:
    """What is wrong with the arguments, a sentence each, in the words of the command's schema."""
    errors = _validator(json.dumps(spec.parameters)).iter_errors(dict(arguments))
    return [f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {_short(error.message)}." for error in errors]


def _short(message: str) -> str:
    """A fault without the middle of a value that it repeats."""
    half = MAX_FAULT_CHARACTERS // 2
    return message if len(message) <= MAX_FAULT_CHARACTERS else f"{message[:half]} … {message[-half:]}"


@lru_cache(maxsize=256)
def _validator(parameters: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # a tenth of a second that a start does not need

    return Draft202012Validator(json.loads(parameters))
