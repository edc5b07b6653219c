"""One call to the model: from an agent's situation to a proposal, or to the reason why there is none."""

import random
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.commands.registry import CommandContext, Commands
from agent_core.errors import CommandError, ModelRefused, ModelUnavailable, OverBudget, UnusableReply
from agent_core.loop.summarising import HISTORY_TOKENS
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.agent import Agent, Thinking
from agent_core.model.command import CommandCall, CommandSpec, Proposal, Thoughts
from agent_core.model.messages import Reply
from agent_core.ports.world import Clock, Workspaces
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.packing import Situation
from agent_core.prompt.profiles import Profile, ProfileName, profile_for
from agent_core.replies.repair import is_worth_repairing, parse_repaired, repair_messages
from agent_core.replies.reply_parser import parse
from agent_core.spending.spending_tracker import SpendingTracker

LONGEST_DELAY = 300.0


@dataclass(frozen=True, slots=True)
class ProposedCommand:
    """A command that can run, with what it is."""

    proposal: Proposal
    spec: CommandSpec


@dataclass(frozen=True, slots=True)
class UnusableAnswer:
    """A reply without a command that can run: the model is told `problem`, and people `brief` with the whole reply."""

    problem: str
    brief: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Delay:
    """The endpoint asks to be asked later."""

    why: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Refusal:
    """No call can be made, or none will be answered; people are told `why`."""

    why: str


Thought: TypeAlias = ProposedCommand | UnusableAnswer | Delay | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposer:
    """Asks the model what an agent should do next. Saves nothing; what calls cost is in the tracker."""

    metered_model: MeteredModel
    memory: LongTermMemory
    commands: Commands
    workspaces: Workspaces
    clock: Clock
    machine: str = "Linux"
    history_tokens: int = HISTORY_TOKENS
    wanted_profile: ProfileName = "auto"

    def profile(self, agent: Agent) -> Profile:
        """How prompts are made for the agent's model."""
        name = self.metered_model.name_for(agent.model)
        return profile_for(self.wanted_profile, name, self.metered_model.model.window(name))

    async def think(self, situation: Situation, tracker: SpendingTracker) -> Thought:
        """Ask for the next command."""
        agent, profile = situation.agent, self.profile(situation.agent)
        try:
            question = ModelRequest(
                kind="chat",
                prompt=profile.pack(situation, self.metered_model.room(self.metered_model.name_for(agent.model))),
                schema=profile.schema(situation),
                most=profile.most_reply,
                temperature=profile.temperature,
            )
            reply = await self.metered_model.ask(question, agent.model, tracker)
            return await self._read(situation, reply, tracker)
        except ModelUnavailable as unavailable:
            return Delay(str(unavailable), _delay(agent, unavailable))
        except ModelRefused as refused:
            return Refusal(f"The model did not answer: {refused} Resume tries again.")
        except OverBudget as over:
            return Refusal(str(over))

    async def _read(self, situation: Situation, reply: Reply, tracker: SpendingTracker) -> Thought:
        agent = situation.agent
        try:
            thoughts, given = await self._parse(agent, reply, tracker)
            call = self._checked(situation, given)
            command = self.commands.get(call.name)
            context = CommandContext(agent=agent, files=self.workspaces.of(agent))
            preview = await command.preview(call.arguments, context)
        except UnusableReply as problem:
            return UnusableAnswer(str(problem), problem.brief, reply.text)
        except CommandError as problem:
            return UnusableAnswer(str(problem), str(problem), reply.text)
        return ProposedCommand(Proposal(thoughts=thoughts, call=call, preview=preview), command.spec)

    def _checked(self, situation: Situation, given: CommandCall) -> CommandCall:
        """The call as it can run; raise UnusableReply when it cannot, or when the profile objects to it."""
        call = self.commands.checked(given)
        if why := self.profile(situation.agent).objection(situation, call):
            raise UnusableReply(why)
        return call

    async def _parse(self, agent: Agent, reply: Reply, tracker: SpendingTracker) -> tuple[Thoughts, CommandCall]:
        """Read the reply, or have a fast model write the same as JSON: what it adds is not used."""
        try:
            return parse(reply)
        except UnusableReply:
            if not self.metered_model.fast_model or not is_worth_repairing(reply):
                raise
            question = ModelRequest(kind="repair", prompt=repair_messages(reply.text))
            try:
                repaired = await self.metered_model.ask(question, agent.model, tracker)
            except (ModelUnavailable, ModelRefused, OverBudget):
                repaired = None
            if repaired is None:
                raise
            return parse_repaired(repaired, reply)


def _delay(agent: Agent, unavailable: ModelUnavailable) -> float:
    """Seconds to wait: as told, else doubling from 2 up to five minutes.

    Up to a quarter is added, so that not all agents come back at once.
    """
    tries = agent.status.tries if isinstance(agent.status, Thinking) else 0
    told = unavailable.retry_after
    seconds = told if told is not None else min(2.0 ** (tries + 1), LONGEST_DELAY)
    return seconds * (1 + random.random() / 4)  # noqa: S311 - spreads load, guards nothing
