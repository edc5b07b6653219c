"""Running an approved command: through an ordered chain of hooks, and always to a result."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from agent_core.commands.registry import CommandContext, Commands, brings_in_by_name, ignore_report, take_in_unseen
from agent_core.errors import CommandError, MemoryAway, ModelError, UnusableReply
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Preview
from agent_core.model.ids import AgentId
from agent_core.model.result import Failed, Result, Succeeded
from agent_core.ports.sandbox import Sandbox
from agent_core.ports.world import Workspaces
from agent_core.spending.spending_tracker import SpendingTracker

LONGEST_RUN = 600.0
MOST_OUTPUT = 200_000

Report: TypeAlias = Callable[[str], None]
Next: TypeAlias = Callable[[CommandCall, CommandContext], Awaitable[Result]]
Hook: TypeAlias = Callable[[CommandCall, CommandContext, Next], Awaitable[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner:
    """Carries commands out. The first hook is the outermost; each may look, change, replace or refuse."""

    commands: Commands
    workspaces: Workspaces
    sandbox: Sandbox | None = None
    hooks: tuple[Hook, ...] = ()

    async def preview_call(self, agent: Agent, call: CommandCall) -> Preview | None:
        """The preview as it is now; raise CommandError when the command cannot run any more."""
        try:
            return await self.commands.get(call.name).preview(call.arguments, self._context(agent, SpendingTracker()))
        except UnusableReply as gone:
            raise CommandError(str(gone)) from gone

    def asks_models(self, call: CommandCall) -> bool:
        """Whether running it makes calls that the agent pays for."""
        try:
            return self.commands.get(call.name).spec.asks_models
        except UnusableReply:
            return False

    async def run(
        self,
        agent: Agent,
        call: CommandCall,
        tracker: SpendingTracker,
        report: Report = ignore_report,
        approved: Preview | None = None,
    ) -> Result:
        """Run the command; whatever goes wrong becomes a Failed that the model reads. Its calls to models are paid.

        `report` is given what a long run has given so far. `approved` is the preview that the approval was checked
        against, to which the command holds what it touches.
        """
        chain: Next = self._carry_out
        for hook in reversed(self.hooks):
            chain = partial(_through, hook, chain)
        return await chain(call, replace(self._context(agent, tracker), report=report, approved=approved))

    def marked(self, call: CommandCall, result: Result, agent: Agent) -> Result:
        """The result, marked where it may contain untrusted content by what the agent is now, after the run."""
        return replace(result, outside=True) if self.may_bring_in(call, agent) else result

    def may_bring_in(self, call: CommandCall, agent: Agent) -> bool:
        """Whether what the command gives to this agent may contain untrusted content."""
        return brings_in_by_name(self.commands, call.name, agent)

    def take_in_unseen(self, agent: Agent, call: CommandCall) -> Agent:
        """The agent after a command of which nobody knows how far it came; one that is gone may have brought in all."""
        return take_in_unseen(self.commands, call.name, agent)

    async def stop_background(self, agent_id: AgentId) -> None:
        """End whatever an agent left running: it stands still, or is gone."""
        if self.sandbox:
            await self.sandbox.end_all(agent_id)

    async def _carry_out(self, call: CommandCall, context: CommandContext) -> Result:
        try:
            command = self.commands.get(call.name)
            async with asyncio.timeout(LONGEST_RUN):
                produced = await command.run(call.arguments, context)
        except TimeoutError:
            return Failed(f"{call.name} was ended after {LONGEST_RUN:.0f} seconds.")
        except (CommandError, MemoryAway, ModelError) as error:
            return Failed(_capped(str(error)))
        return Succeeded(_capped(produced.text), files=produced.files, outside=produced.outside)

    def _context(self, agent: Agent, tracker: SpendingTracker) -> CommandContext:
        return CommandContext(agent=agent, files=self.workspaces.of(agent), tracker=tracker)


async def _through(hook: Hook, following: Next, call: CommandCall, context: CommandContext) -> Result:
    return await hook(call, context, following)


def _capped(output: str) -> str:
    lost = len(output) - MOST_OUTPUT
    return f"{output[:MOST_OUTPUT]}\n({lost:,} more characters are lost.)" if lost > 0 else output
