"""Previews and runs commands inside hooks; every outcome is a Result. `Extensions` is what a host adds to the loop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

from agent_core.errors import (
    CommandError,
    CommitUnknown,
    DatabaseAway,
    MemoryAway,
    ModelError,
    NothingReceived,
    UnusableReply,
)
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Failed, Interrupted, Preview, Result, Succeeded
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.thought_hooks import ThoughtHooks
from agent_core.ports.files import Workspaces
from agent_core.ports.models import AgentEmbedders
from agent_core.ports.sandbox import Sandbox
from agent_core.ports.tool_servers import ListSources, no_sources
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.toolset.registry import CommandContext, CommandOutput, Commands
from agent_core.toolset.run_display import UNSEEN, RunDisplay
from agent_core.toolset.versions import keep_version

COMMAND_TIMEOUT_SECONDS = 600.0
MAX_OUTPUT_CHARACTERS = 200_000

NextHook: TypeAlias = Callable[[CommandCall, CommandContext], Awaitable[Result]]
Hook: TypeAlias = Callable[[CommandCall, CommandContext, NextHook], Awaitable[Result]]
Observe: TypeAlias = Callable[[Agent, Turn], Awaitable[None]]


async def wait_for_nothing(_command: str) -> None:
    """Return at once: every command is registered at the start."""


async def ready_at_once() -> None:
    """Return at once: there is nothing to wait for at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """What a host adds to the loop, such as its plugins.

    `hooks`: functions around the run of every command; the first is the outermost.
    `observers`: told of each turn whose result the loop saved; they do not raise.
    `guidance`: lines for every standing prompt.
    `list_sources`: says where commands come from that are not Signoff's own.
    `wait_for`: waits for a command of this name that is still being registered, within limits; it does not raise.
    `ready`: waits before a thought for what is still being connected at the start, within seconds; it does not raise.
    `thoughts`: hooks of the think step, before the card is shown; None costs nothing.
    `embedders`: what embeds the texts of some agents in place of the common embedder.
    """

    hooks: tuple[Hook, ...] = ()
    observers: tuple[Observe, ...] = ()
    guidance: tuple[str, ...] = ()
    list_sources: ListSources = no_sources
    wait_for: Callable[[str], Awaitable[None]] = wait_for_nothing
    ready: Callable[[], Awaitable[None]] = ready_at_once
    thoughts: ThoughtHooks | None = None
    embedders: AgentEmbedders | None = None


NO_EXTENSIONS = Extensions()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner:
    """Runs commands. Each hook may inspect, change, replace or refuse a call.

    `secrets`: what is redacted from every result, also from what a hook makes of it.
    """

    commands: Commands
    workspaces: Workspaces
    sandbox: Sandbox | None = None
    extensions: Extensions = NO_EXTENSIONS
    secrets: Secrets = NO_SECRETS

    async def preview_call(self, agent: Agent, call: CommandCall) -> Preview | None:
        """Compute the preview again before the run; raise CommandError if the command cannot run any more."""
        await self.extensions.wait_for(call.name)
        try:
            return await self.commands.preview(call, self._context(agent, SpendingTracker()))
        except UnusableReply as gone:
            raise CommandError(str(gone)) from gone

    async def find_outcome(
        self, agent: Agent, call: CommandCall, approved: Preview | None, *, shares_folder: bool
    ) -> Succeeded | Literal["not run", "unknown"]:
        """What became of a command that was running when a process ended, as far as the agent's files tell."""
        try:
            find = self.commands.get(call.name).find_outcome
            context = replace(self._context(agent, SpendingTracker()), approved=approved, shares_folder=shares_folder)
            found = await find(call.arguments, context)
        except (CommandError, UnusableReply):
            return "unknown"
        return Succeeded(self.secrets.redact(found.text)) if isinstance(found, CommandOutput) else found

    def asks_models(self, call: CommandCall) -> bool:
        """Whether this command makes model calls that the agent pays for."""
        try:
            return self.commands.get(call.name).spec.asks_models
        except UnusableReply:
            return False

    async def run(
        self,
        agent: Agent,
        call: CommandCall,
        tracker: SpendingTracker,
        display: RunDisplay = UNSEEN,
        approved: Preview | None = None,
        *,
        is_simulated: bool = False,
    ) -> Result:
        """Run the command; an error becomes a Failed for the model. Model calls are charged to `tracker`.

        `display` receives what people are shown meanwhile.
        `is_simulated`: its card says that it is only simulated. In a dry run no hook of a plugin takes part.
        `approved` is the preview that people approved: the command refuses to touch anything else.
        """
        if is_simulated or self._simulates(agent, call):
            return _simulated(call)
        chain: NextHook = self._run_command
        for hook in () if agent.dry_run else reversed(self.extensions.hooks):
            chain = partial(_call_hook, hook, chain)
        context = replace(
            self._context(agent, tracker),
            approved=approved,
            report=display.report,
            announce=display.announce,
            ask=display.ask,
            is_ending=display.is_ending,
        )
        return self._kept(await chain(call, context))

    async def tell(self, agent: Agent, turn: Turn) -> None:
        """Tell the observers of a turn whose result the loop saved; those of plugins take no part in a dry run."""
        for observe in () if agent.dry_run else self.extensions.observers:
            await observe(agent, turn)

    async def stop_background(self, agent_id: AgentId) -> None:
        """End every background program of an agent that is at rest or deleted."""
        if self.sandbox:
            await self.sandbox.end_all(agent_id)

    async def keep_version(self, agent: Agent, turn: Turn) -> None:
        """Keep what the files are before a command that may change them, for forks. Helpers share the root agent's."""
        if agent.head is None and turn.may_change_files:
            await keep_version(self.workspaces.of(agent), turn.number, distrusts_times=self.sandbox is not None)

    def _simulates(self, agent: Agent, call: CommandCall) -> bool:
        """Whether the command is simulated by what it is now; one that is not there any more is, in a dry run."""
        try:
            spec = self.commands.get(call.name).spec
        except UnusableReply:
            return agent.dry_run
        return agent.simulates(spec)

    async def _run_command(self, call: CommandCall, context: CommandContext) -> Result:
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS) as timeout:
                context.limit.limit = timeout
                produced = await self.commands.run(call, context)
        except TimeoutError:
            return Failed(f"{call.name} was ended after {COMMAND_TIMEOUT_SECONDS:.0f} seconds.")
        except NothingReceived as error:  # a plugin may have received something before, and name it here
            return Failed(str(error), received_nothing=not self.commands.get(call.name).spec.source)
        except (CommandError, MemoryAway, ModelError) as error:
            return Failed(str(error))
        except CommitUnknown:
            return Failed(f"The database went away while {call.name} saved something: look whether it took effect.")
        except DatabaseAway:
            return Failed(f"The database cannot be reached now, so {call.name} saved nothing. Try again.")
        return Succeeded(produced.text, files=produced.files, outside=produced.outside)

    def _kept(self, result: Result) -> Result:
        """The result as it is saved: bounded, and without secrets."""
        match result:
            case Succeeded(output):
                return replace(result, output=_truncate(self.secrets.redact(output)))
            case Failed(error):
                return replace(result, error=_truncate(self.secrets.redact(error)))
            case Interrupted(output=output):
                return replace(result, output=_truncate(self.secrets.redact(output)))

    def _context(self, agent: Agent, tracker: SpendingTracker) -> CommandContext:
        return CommandContext(agent=agent, files=self.workspaces.of(agent), tracker=tracker)


def _simulated(call: CommandCall) -> Succeeded:
    told = f"Dry run: {call.name} was only simulated. Nothing was changed or sent. Go on as if it had worked."
    return Succeeded(told, is_simulated=True)


async def _call_hook(hook: Hook, following: NextHook, call: CommandCall, context: CommandContext) -> Result:
    return await hook(call, context, following)


def _truncate(output: str) -> str:
    lost = len(output) - MAX_OUTPUT_CHARACTERS
    return f"{output[:MAX_OUTPUT_CHARACTERS]}\n({lost:,} more characters are lost.)" if lost > 0 else output
