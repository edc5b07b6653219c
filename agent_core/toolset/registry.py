"""Commands: their context and output, `declare` to make them, and the registry that finds, checks and runs them."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_core.errors import CommandError, UnusableReply
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import ALL_ON, ToolSwitches
from agent_core.model.command import Arguments, CommandCall, CommandSpec, Preview, RiskClass
from agent_core.oversight.untrusted_content import assume_exposed, may_return_untrusted, may_write_untrusted
from agent_core.ports.files import Files
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.toolset.arguments import allowed_arguments_text, argument_faults, fit_arguments, normalise_name
from agent_core.toolset.declared_functions import docstring_of, require_async
from agent_core.toolset.names import names_of, unknown_command
from agent_core.toolset.run_display import ShowQuestion, ShowText, goes_on, show_nothing
from agent_core.toolset.time_limit import TimeLimit

Given = TypeVar("Given", bound=BaseModel)


class NoArguments(BaseModel):
    """No arguments."""

    model_config = ConfigDict(title="Nothing")  # models are told the title, and prompts stay the same


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """What a command may use: its agent, that agent's files, and the budget for model calls.

    `report`: shows the output so far of a long run; `announce`: posts a sentence; `ask`: shows what a server asks.
    `is_ending`: whether the process ends, so that nobody can be waited for any more.
    `limit`: the time limit, which can stand still. `approved`: the preview that was approved; nothing else is touched.
    `shares_folder`: whether helpers work in the same folder; only told when the outcome of a command is looked for.
    """

    agent: Agent
    files: Files
    tracker: SpendingTracker = field(default_factory=SpendingTracker)
    report: ShowText = show_nothing
    announce: ShowText = show_nothing
    ask: ShowQuestion = show_nothing
    is_ending: Callable[[], bool] = goes_on
    limit: TimeLimit = field(default_factory=TimeLimit)
    approved: Preview | None = None
    shares_folder: bool = False

    @property
    def approved_basis(self) -> str | None:
        """The basis of the approved preview; None without an approved preview."""
        return self.approved.basis if self.approved else None

    async def check_file(self, path: str) -> None:
        """Raise CommandError if the file has changed since the approved preview."""
        if self.approved_basis is not None and await self.files.fingerprint(path) != self.approved_basis:
            raise CommandError(f"{path} changed after this was approved, so it was not used. Propose this again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """A command's output. The workspace files `files` are posted in the thread, and images among them displayed.

    `outside`: this output is untrusted content, although the command's spec does not say so of all its results.
    """

    text: str
    files: tuple[str, ...] = ()
    outside: bool = False


Run: TypeAlias = Callable[[Arguments, CommandContext], Awaitable[CommandOutput]]
PreviewFunction: TypeAlias = Callable[[Arguments, CommandContext], Awaitable[Preview | None]]
FoundOutcome: TypeAlias = CommandOutput | Literal["not run", "unknown"]
FindOutcome: TypeAlias = Callable[[Arguments, CommandContext], Awaitable[FoundOutcome]]
CheckUse: TypeAlias = Callable[[CommandSpec, CommandContext], Awaitable[None]]


def on_for_every_model(_model: str) -> str:
    """Return no reason why a command would be off."""
    return ""


async def allow_every_use(_spec: CommandSpec, _context: CommandContext) -> None:
    """Refuse nothing."""


async def no_preview(_arguments: Arguments, _context: CommandContext) -> None:
    """Return no preview, for a command whose arguments show everything."""


async def outcome_unknown(_arguments: Arguments, _context: CommandContext) -> FoundOutcome:
    """Return "unknown", for a command that leaves no trace by which one can tell whether it ran."""
    return "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A spec and its implementation. `run` and `preview` raise CommandError with a sentence for the model.

    `preview`: runs before people are asked and again before the command runs; it changes nothing.
    `find_outcome`: after a crash, finds in the agent's files whether the command ran; its output if it did.
    `shows`: describes the preview for the documentation.
    `off`: why the command is off and how to switch it on, or "".
    `off_for`: returns why the command is off for agents of a model; "" if it is on. The model "" is the default model.
    """

    spec: CommandSpec
    run: Run
    preview: PreviewFunction = no_preview
    find_outcome: FindOutcome = outcome_unknown
    shows: str = ""
    off: str = ""
    off_for: Callable[[str], str] = on_for_every_model

    def switched(self, off: str) -> "Command":
        """A copy of the command that is off for this reason; "" switches it on."""
        return replace(self, off=off)

    def approved_by_two(self, classes: Collection[RiskClass]) -> "Command":
        """A copy of the command, which two people approve if it is of one of these classes."""
        return replace(
            self, spec=replace(self.spec, needs_two=self.spec.needs_two or not set(self.spec.risks).isdisjoint(classes))
        )

    def switched_by_model(self, off_for: Callable[[str], str]) -> "Command":
        """A copy of the command that is offered only to agents of some models. Its preview has to check it as well."""
        return replace(self, off_for=off_for)


def declare(
    given: type[Given],
    run: Callable[[Given, CommandContext], Awaitable[str | CommandOutput]],
    preview: Callable[[Given, CommandContext], Awaitable[Preview | None]] | None = None,
    find_outcome: Callable[[Given, CommandContext], Awaitable[FoundOutcome]] | None = None,
    **facts: Any,
) -> Command:
    """A command from async functions. Models read the docstring of `run` and the fields of `given`."""
    for each in filter(None, (run, preview, find_outcome)):
        require_async(each)

    async def carry_out(arguments: Arguments, context: CommandContext) -> CommandOutput:
        produced = await run(_validate(given, arguments), context)
        return produced if isinstance(produced, CommandOutput) else CommandOutput(text=produced)

    async def preview_call(arguments: Arguments, context: CommandContext) -> Preview | None:
        return await preview(_validate(given, arguments), context) if preview else None

    async def find(arguments: Arguments, context: CommandContext) -> FoundOutcome:
        return await find_outcome(_validate(given, arguments), context) if find_outcome else "unknown"

    spec = CommandSpec(name=run.__name__, description=docstring_of(run), parameters=deepcopy(_schema(given)), **facts)
    return Command(spec=spec, run=carry_out, preview=preview_call, find_outcome=find, shows=docstring_of(preview))


def _validate(given: type[Given], arguments: Arguments) -> Given:
    try:
        return given.model_validate(arguments)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise CommandError(f"The arguments cannot be used: {faults}.") from None


@cache
def _schema(given: type[BaseModel]) -> dict[str, object]:
    """The JSON Schema of the arguments, without the titles and the class's docstring: requests repeat every token."""
    schema = given.model_json_schema()
    for part in (schema, *schema.get("properties", {}).values()):
        part.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


@dataclass(slots=True, eq=False)
class Commands:
    """The registry. Commands can be registered, and those of one owner replaced, while the process runs.

    `by_owner`: what `replace_from` registered, in the order in which owners came first.
    `check_use`: raises CommandError if an agent may not use a command; it is asked at each preview and at each run.
    """

    by_name: dict[str, Command] = field(default_factory=dict)
    by_owner: dict[str, tuple[Command, ...]] = field(default_factory=dict)
    check_use: CheckUse = allow_every_use

    @classmethod
    def of(cls, *commands: Command) -> "Commands":
        registry = cls()
        for command in commands:
            registry.register(command)
        return registry

    def register(self, command: Command) -> None:
        """Add a command; raise ValueError if its name or a synonym is taken."""
        for name in (command.spec.name, *command.spec.synonyms):
            if self._find(name):
                raise ValueError(f"There is a command {name} already.")
        self.by_name[command.spec.name] = command

    def replace_from(self, owner: str, commands: Sequence[Command]) -> None:
        """Put these commands in the place of those that the owner registered before, all at once.

        They follow the commands that no owner registered, in the order in which owners came first: what prompts list
        before them stays the same. Names `OWNER.…` are the owner's: others lose them for good. Raise ValueError, and
        change nothing, if another name is taken.
        """
        by_owner = {**self.by_owner, owner: tuple(commands)}
        taken = self.taken_besides(owner)
        for each in commands:
            if clash := taken.keys() & names_of(each.spec):
                raise ValueError(f"There is a command {min(clash)} already.")
            taken |= dict.fromkeys(names_of(each.spec), owner)
        own = (each for owned in by_owner.values() for each in owned)
        self.by_name = {each.spec.name: each for each in (*self._without_owner(owner), *own)}
        self.by_owner = by_owner

    def taken_besides(self, owner: str) -> dict[str, str]:
        """The names that this owner cannot take, in the form in which they are compared, and who has each."""
        others = {other: commands for other, commands in self.by_owner.items() if other != owner}
        every = {"Signoff": self._without_owner(owner), **others}
        return {name: other for other, commands in every.items() for each in commands for name in names_of(each.spec)}

    def _without_owner(self, owner: str) -> tuple[Command, ...]:
        """The commands that nobody owns, without those that have a name of this owner's."""
        owned = {each.spec.name for commands in self.by_owner.values() for each in commands}
        own, every = normalise_name(f"{owner}."), self.by_name.values()
        free = (each for each in every if each.spec.name not in owned)
        return tuple(each for each in free if not any(name.startswith(own) for name in names_of(each.spec)))

    def get(self, name: str) -> Command:
        """The command of that name; raise UnusableReply if it is unknown or off."""
        command = self._find(name)
        if command is None:
            raise unknown_command(name, [each.spec for each in self.by_name.values()], self.specs, self.by_owner)
        if command.off:
            raise UnusableReply(f"{command.spec.name} is switched off here: {command.off}")
        return command

    async def preview(self, call: CommandCall, context: CommandContext) -> Preview | None:
        """What the call would do now. Raise UnusableReply if it is unknown or off, CommandError if it is refused."""
        command = self.get(call.name)
        await self.check_use(command.spec, context)
        return await command.preview(call.arguments, context)

    async def run(self, call: CommandCall, context: CommandContext) -> CommandOutput:
        """Run the call; raise what `preview` raises, and what the command raises."""
        command = self.get(call.name)
        await self.check_use(command.spec, context)
        return await command.run(call.arguments, context)

    def needs_two(self, name: str) -> bool:
        """Whether two people approve the command, whatever a policy says."""
        known = self._find(name)
        return known is not None and known.spec.needs_two

    def finishes(self, name: str) -> bool:
        """Whether the agent's work ends when this command succeeds."""
        return bool((command := self._find(name)) and command.spec.finishes)

    def waits(self, name: str) -> bool:
        """Whether an agent waits for its helpers after this command."""
        return bool((command := self._find(name)) and command.spec.waits)

    def source_of(self, name: str) -> str:
        """Name and version of the plugin that added the command; "" for Signoff's own, and for an unknown one."""
        return command.spec.source if (command := self.by_name.get(name)) else ""

    def may_return_untrusted(self, name: str, agent: Agent) -> bool:
        """Whether the command's result may be untrusted content; True for an unknown command."""
        command = self.by_name.get(name)
        return command is None or may_return_untrusted(command.spec, agent)

    def may_write_untrusted(self, name: str, agent: Agent) -> bool:
        """Whether the command may write untrusted content into the folder; for an unknown command if others may."""
        command = self.by_name.get(name)
        return may_write_untrusted(command.spec, agent) if command else agent.is_tainted

    def expose_after_interruption(self, name: str, agent: Agent) -> Agent:
        """The agent after the interrupted command: exposed if the command is unknown or may read untrusted content."""
        command = self.by_name.get(name)
        return assume_exposed(agent, command.spec) if command else agent.expose()

    @property
    def specs(self) -> tuple[CommandSpec, ...]:
        """The specs of the commands that are on, in order of registration."""
        return tuple(command.spec for command in self.by_name.values() if not command.off)

    def has_sources(self) -> bool:
        """Whether any command is not Signoff's own."""
        return any(command.spec.source for command in self.by_name.values())

    def specs_for(self, model: str, switches: ToolSwitches = ALL_ON) -> tuple[CommandSpec, ...]:
        """The specs of the commands that are on in a channel for agents of this model; "" is the default model."""
        on = filter(switches.allows, self.specs)
        return tuple(spec for spec in on if not self.by_name[spec.name].off_for(model))

    def checked(self, call: CommandCall) -> CommandCall:
        """The call under the command's own names; raise UnusableReply if it is unknown, off, or violates its schema."""
        spec = self.get(call.name).spec
        arguments = fit_arguments(spec, call.arguments)
        if faults := argument_faults(spec, arguments):
            raise UnusableReply(
                f"{spec.name}: {' '.join(faults)} {allowed_arguments_text(spec)}", f"{spec.name}: {faults[0]}"
            )
        return CommandCall(spec.name, arguments)

    def _find(self, name: str) -> Command | None:
        if command := self.by_name.get(name):
            return command
        plain = normalise_name(name)
        return next((command for command in self.by_name.values() if plain in names_of(command.spec)), None)
