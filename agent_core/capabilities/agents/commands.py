"""Commands on helpers, with previews: start, message, list and delete other agents."""

from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.agent import Agent, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.command import Preview
from agent_core.model.draft import MAX_GOAL_CHARACTERS, MAX_NAME_CHARACTERS
from agent_core.ports.helpers import Helpers
from agent_core.spending.helper_tree import find_helper
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, NoArguments, declare

MAX_TEXT_CHARACTERS = 10_000
WAITING_HINT = "When there is nothing else to do until it reports, use do_nothing: then you wait for it."
HELPER_ALIASES = {"agent": "key", "name": "key", "id": "key", "agent_key": "key"}


class StartAgentArguments(BaseModel):
    """A helper to be."""

    name: str = Field(description="name", min_length=1, max_length=MAX_NAME_CHARACTERS)
    task: str = Field(description="what to do", min_length=1, max_length=MAX_GOAL_CHARACTERS)
    prompt: str = Field(default="", description="what it must know", max_length=MAX_TEXT_CHARACTERS)


class MessageAgentArguments(BaseModel):
    """Something to tell a helper."""

    key: str = Field(description="its name", min_length=1, max_length=MAX_NAME_CHARACTERS)
    message: str = Field(description="message", min_length=1, max_length=MAX_TEXT_CHARACTERS)


class AgentArguments(BaseModel):
    """One helper."""

    key: str = Field(description="its name", min_length=1, max_length=MAX_NAME_CHARACTERS)


@dataclass(frozen=True, slots=True)
class AgentCommands:
    """Commands on an agent's helpers. A helper's report is a note to the agent, marked as written by an agent."""

    helpers: Helpers

    async def start_agent(self, given: StartAgentArguments, context: CommandContext) -> str:
        """Start a helper for one task; it shares your files, and reports."""
        helper = await self.helpers.start(context.agent, given.name, given.task, given.prompt)
        return f"{helper.name} is started. {WAITING_HINT}"

    async def message_agent(self, given: MessageAgentArguments, context: CommandContext) -> CommandOutput:
        """Write to a helper."""
        approved = await self._require_approved(given.key, context)
        helper = await self.helpers.message(context.agent, approved.id, given.message)
        if isinstance(helper.status, Paused | Stopped):
            state = " ".join(_state(helper).split())
            text = f"{helper.name} keeps this, but stands still: {state}. People resume it."
            return CommandOutput(text=text, outside=helper.is_tainted)
        return CommandOutput(text=f"{helper.name} reads this at its next turn. {WAITING_HINT}")

    async def list_agents(self, _given: NoArguments, context: CommandContext) -> CommandOutput:
        """List your helpers."""
        helpers = await self.helpers.of(context.agent)
        lines = [
            " ".join(f"{number}. {each.name}: {_state(each)}. {each.goals[0]}".split())
            for number, each in enumerate(helpers, 1)
        ]
        outside = any(each.is_tainted for each in helpers)
        return CommandOutput(text="\n".join(lines) or "You have no helpers.", outside=outside)

    async def delete_agent(self, given: AgentArguments, context: CommandContext) -> str:
        """Remove a helper; files stay."""
        approved = await self._require_approved(given.key, context)
        helper = await self.helpers.delete(context.agent, approved.id)
        return f"{helper.name} is removed."

    async def preview_start(self, given: StartAgentArguments, context: CommandContext) -> Preview:
        """The rules under which the helper will work."""
        helpers = await self.helpers.of(context.agent)
        title = f"A helper in this thread, beside {len(helpers)} others" if helpers else "A helper in this thread"
        body = "It shares the files, the budget and the policy. People approve each of its commands."
        return Preview(title=title, body=body, target=given.name)

    async def preview_message(self, given: MessageAgentArguments, context: CommandContext) -> Preview:
        """The helper that reads the message, and its state."""
        helper = await self._find(given.key, context)
        return Preview(title=f"To {helper.name}", body=_state(helper), target=f"helper {given.key}", basis=helper.id)

    async def preview_delete(self, given: AgentArguments, context: CommandContext) -> Preview:
        """The helper with its state and its number of turns."""
        helper = await self._find(given.key, context)
        title = f"{helper.name} · {helper.turns} turns will be removed; the decision log stays, without texts"
        return Preview(title=title, body=_state(helper), target=f"helper {given.key}", basis=helper.id)

    @property
    def commands(self) -> tuple[Command, ...]:
        spend = partial(declare, risks=("spend",), category="agents")
        starting = {"agent": "name", "goal": "task", "instructions": "prompt", "message": "prompt"}
        saying = {**HELPER_ALIASES, "text": "message", "prompt": "message"}
        listing = partial(declare, NoArguments, self.list_agents, risks=("read",), category="agents")
        return (
            spend(StartAgentArguments, self.start_agent, self.preview_start, label="Start helper", aliases=starting),
            spend(
                MessageAgentArguments, self.message_agent, self.preview_message, label="Message helper", aliases=saying
            ),
            listing(label="List helpers", synonyms=("list_helpers",)),
            declare(
                AgentArguments,
                self.delete_agent,
                self.preview_delete,
                label="Delete helper",
                risks=("delete",),
                category="agents",
                aliases=HELPER_ALIASES,
                always_asks=True,
            ),
        )

    async def _find(self, key: str, context: CommandContext) -> Agent:
        return find_helper(await self.helpers.of(context.agent), key)

    async def _require_approved(self, key: str, context: CommandContext) -> Agent:
        """Find the helper by id, name or number; raise CommandError if people approved the call for another helper."""
        helper = await self._find(key, context)
        if context.approved_basis not in (None, helper.id):
            raise CommandError(f"{key} is another helper than the one that was approved, so nothing was done.")
        return helper


def _state(helper: Agent) -> str:
    match helper.status:
        case Finished(reason):
            return f"done: {reason}" if reason else "done"
        case Paused(reason):
            return f"paused: {reason}"
        case Stopped(by):
            return f"stopped by {by}"
        case Awaiting():
            return "asks people to approve its next command"
        case Thinking(waits_for=names) if names:
            return f"waits for {', '.join(names)}"
        case _:
            return "at work"
