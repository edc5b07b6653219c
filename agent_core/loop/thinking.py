"""One call to the model: from an agent's situation to a proposal, or to the reason why there is none."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from agent_core.commands.registry import CommandContext, Commands
from agent_core.errors import CommandError, ModelRefused, ModelUnavailable, UnusableReply
from agent_core.model.agent import Agent, Thinking
from agent_core.model.command import CommandSpec, Proposal
from agent_core.model.messages import Message, Reply
from agent_core.model.note import Note
from agent_core.model.turn import Turn
from agent_core.model.usage import Usage
from agent_core.ports.minds import LanguageModel, TokenCounter
from agent_core.ports.world import Clock, Workspaces
from agent_core.prompt.packing import Situation, pack
from agent_core.prompt.reply import parse, reply_schema

WINDOW = 16_000
MOST_REPLY = 4_000
LONGEST_DELAY = 300.0


@dataclass(frozen=True, slots=True)
class Proposed:
    """A command that can run, with what it is."""

    proposal: Proposal
    spec: CommandSpec
    usage: Usage


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply without a command that can run; the model is told `problem`."""

    problem: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Delayed:
    """The endpoint asks to be asked later."""

    why: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Refused:
    """No call can be made, or none will be answered; people are told `why`."""

    why: str


Thought: TypeAlias = Proposed | Unusable | Delayed | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """Asks the model what an agent should do next. Saves nothing."""

    model: LanguageModel
    commands: Commands
    workspaces: Workspaces
    tokens: TokenCounter
    clock: Clock

    async def think(self, agent: Agent, turns: Sequence[Turn], notes: Sequence[Note]) -> Thought:
        """Ask for the next command; `turns` are the newest ones in order, `notes` those they read or will."""
        situation = Situation(agent=agent, commands=self.commands.specs, turns=turns, notes=notes, now=self.clock.now())
        prompt = pack(situation, window=WINDOW - MOST_REPLY, count=self.tokens.count)
        if why := self._why_unaffordable(agent, prompt):
            return Refused(why)
        try:
            reply = await self._ask(agent, prompt)
        except ModelUnavailable as unavailable:
            return Delayed(str(unavailable), _delay(agent, unavailable))
        except ModelRefused as refused:
            return Refused(f"The model did not answer: {refused} Resume tries again.")
        return await self._read(agent, reply)

    def estimate(self, prompt_tokens: int, model: str) -> Decimal | None:
        """US dollars of a call at its longest, or None when no price is known."""
        return self.model.price(Usage(prompt=prompt_tokens, completion=MOST_REPLY), model or self.model.default_model)

    def _why_unaffordable(self, agent: Agent, prompt: Sequence[Message]) -> str:
        if agent.budget.limit is None:
            return ""
        estimate = self.estimate(sum(self.tokens.count(message.content) for message in prompt), agent.model)
        if estimate is None:
            name = agent.model or self.model.default_model
            return f"No price is known for {name}, so the budget cannot be kept. Set MODEL_PRICES, or lift the budget."
        if agent.budget.affords(estimate):
            return ""
        budget = agent.budget
        return (
            f"The budget is reached: ${budget.spent:.2f} of ${budget.limit:.2f} is spent and the next call may cost "
            f"${estimate:.3f}. Raise the budget, then Resume."
        )

    async def _ask(self, agent: Agent, prompt: Sequence[Message]) -> Reply:
        schema = reply_schema(self.commands.specs)
        model = agent.model or self.model.default_model
        reply = await self.model.complete(prompt, schema=schema, model=model, max_tokens=MOST_REPLY)
        cost = self.model.price(reply.usage, model) or reply.usage.cost
        return replace(reply, usage=replace(reply.usage, cost=cost))

    async def _read(self, agent: Agent, reply: Reply) -> Thought:
        try:
            thoughts, given = parse(reply)
            call = self.commands.checked(given)
            command = self.commands.get(call.name)
            context = CommandContext(agent=agent, files=self.workspaces.of(agent))
            preview = await command.preview(call.arguments, context)
        except (UnusableReply, CommandError) as problem:
            return Unusable(str(problem), reply.usage)
        return Proposed(Proposal(thoughts=thoughts, call=call, preview=preview), command.spec, reply.usage)


def _delay(agent: Agent, unavailable: ModelUnavailable) -> float:
    """Seconds to wait: as told, else doubling from 2 up to five minutes.

    Up to a quarter is added, so that not all agents come back at once.
    """
    tries = agent.status.tries if isinstance(agent.status, Thinking) else 0
    told = unavailable.retry_after
    seconds = told if told is not None else min(2.0 ** (tries + 1), LONGEST_DELAY)
    return seconds * (1 + random.random() / 4)  # noqa: S311 - spreads load, guards nothing
