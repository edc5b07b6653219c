"""Calls language models for agents: limits the reply's length, checks the budgets before and records the cost after."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial

from agent_core.errors import ModelError, ModelUnavailable, OverBudget, RateLimited
from agent_core.model.agent import ModelChoice
from agent_core.model.model_calls import FREE, CallKind, Message, Reply, Usage
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.ports.models import CallOptions, LanguageModel, ModelProgress, NewestCall, Pricing, TokenCounters
from agent_core.ports.telemetry import NOT_WATCHED, Facts, Telemetry
from agent_core.prompt.packing import TOKENS_PER_PROMPT, TokenRoom
from agent_core.replies.reading import ReplySchema
from agent_core.spending.spending_tracker import SpendingTracker

DEFAULT_REPLY_TOKENS = 16_000  # for a model whose longest reply is unknown
MIN_AFFORDABLE_TOKENS = 4_000  # a budget that does not afford a reply of this length is reached
BUDGET_SHARE = 2  # a reply may cost half of what is left of a budget, so that several agents share it
REASONING_TOKENS = 8_000  # for a model that was seen to reason, besides the room for its answer
MAX_EXTENSIONS = 2
REPLY_SHARE_OF_WINDOW = 4  # a fourth of the window is reserved for the reply
ESTIMATED_ROOM_PERCENT = 75  # models split European languages into up to a third more tokens than our estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a model.

    `max_tokens`: the limit of the answer without its reasoning; None stands for the model's usual limit.
    `report`: called with the progress of a streamed reply.
    `by_own_model`: the agent's own model answers with its own effort, whatever the kind of call.
    """

    kind: CallKind
    prompt: Sequence[Message]
    schema: Mapping[str, object] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    report: Callable[[ModelProgress], None] | None = None
    by_own_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInUse:
    """The model that answers a call. All sizes are in tokens.

    `window`: prompt and reply together. `longest_reply`: None if that is unknown. `reserved`: the part of the window
    for the reply, reasoning included. `room`: what is left for the prompt.
    """

    name: str
    window: int
    longest_reply: int | None
    reserved: int
    room: TokenRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredModel:
    """Calls the agent's own model for its turns, and `fast_model`, if set, for everything else.

    `effort`, `fast_effort`: the reasoning efforts for turns and for everything else, unless the agent has its own.
    `reasoning_models`: the models that were seen to reason.
    """

    model: LanguageModel
    tokens: TokenCounters
    fast_model: str = ""
    effort: str = ""
    fast_effort: str = ""
    secrets: Secrets = NO_SECRETS
    reasoning_models: set[str] = field(default_factory=set)
    newest: NewestCall = field(default_factory=NewestCall)
    telemetry: Telemetry = NOT_WATCHED

    def in_use(self, chosen: str, kind: CallKind = "chat") -> ModelInUse:
        """The model for this kind of call. `chosen` is the agent's own model; "" is the default model.

        Its room has a safety margin if its own tokenizer is not available.
        """
        own = chosen or self.model.default_model
        name = own if kind == "chat" else self.fast_model or own
        window, longest, counter = self.model.window(name), self.model.max_reply(name), self.tokens.of(name)
        reserved = min(longest or DEFAULT_REPLY_TOKENS, window // REPLY_SHARE_OF_WINDOW)
        left = window - reserved
        room = TokenRoom(left if counter.is_exact else left * ESTIMATED_ROOM_PERCENT // 100, counter.count)
        return ModelInUse(name=name, window=window, longest_reply=longest, reserved=reserved, room=room)

    def takes_images(self, chosen: str) -> bool:
        """Whether the model takes pictures. `chosen` is the agent's own model; "" is the default model."""
        return self.model.takes_images(chosen or self.model.default_model)

    async def ask(self, question: ModelRequest, choice: ModelChoice, tracker: SpendingTracker) -> Reply:
        """Return the reply and record its cost; raise OverBudget (no call was made), ModelUnavailable or ModelRefused.

        If reasoning took the room of the reply, ask again with more room, up to the model's maximum. The operator's
        secrets are redacted from the prompt and from the reply.
        """
        question = replace(question, prompt=[self._redacted(message) for message in question.prompt])
        model = self.in_use(choice.model, "chat" if question.by_own_model else question.kind)
        name, sent = model.name, _prompt_tokens(question, model)
        choice = replace(choice, model=name)
        left = model.window - sent
        longest = min(model.longest_reply or left, left)
        reasoning = REASONING_TOKENS if name in self.reasoning_models else 0
        wanted = question.max_tokens + reasoning if question.max_tokens else model.reserved
        limit = await self._affordable(sent, name, min(wanted, model.reserved), tracker)
        reply = await self._call(question, choice, sent, limit, tracker)
        for _ in range(MAX_EXTENSIONS):
            if reply.usage.reasoning or reply.reasoning:
                self.reasoning_models.add(name)
            wider = min(longest, max(2 * limit, (question.max_tokens or 0) + REASONING_TOKENS))
            wider = await self._affordable(sent, name, wider, tracker)
            if not reply.is_cut_by_reasoning or wider <= limit:
                break
            try:
                reply, limit = await self._call(question, choice, sent, wider, tracker), wider
            except OverBudget:
                break
        return reply

    def _redacted(self, message: Message) -> Message:
        content = self.secrets.redact(message.content)
        return message if content == message.content else replace(message, content=content)

    async def _call(
        self, question: ModelRequest, choice: ModelChoice, sent: int, limit: int, tracker: SpendingTracker
    ) -> Reply:
        """Make one call. `sent`, `limit`: the tokens of its prompt, and the most of its reply."""
        received = _Received(question.report, partial(self.model.price, model=choice.model))
        is_own = question.by_own_model or question.kind == "chat"
        options = CallOptions(
            schema=question.schema,
            model=choice.model,
            max_tokens=limit,
            temperature=question.temperature,
            effort=choice.effort or (self.effort if is_own else self.fast_effort),
            cache_key=choice.cache_key,
            report=received.note,
            report_price=received.use_price,
        )
        estimate = self._estimate(sent, choice.model, limit)
        async with tracker.reserve(estimate, choice.model or "this model", question.kind):
            try:
                with self.telemetry.watch("model call", model=choice.model, kind=question.kind) as facts:
                    reply = await self.model.complete(question.prompt, options)
                    usage = received.priced(reply.usage)
                    name = choice.model or self.model.default_model  # known after the first call at the latest
                    _add_facts(facts, name, reply, usage)
            except (asyncio.CancelledError, ModelError) as error:
                if RateLimited in (type(error), type(error.__cause__)):  # a fallback model tells of it in its own error
                    self.telemetry.count_rate_limit("model")
                if isinstance(error, ModelUnavailable):
                    self.newest.fault = str(error)
                if received.tokens:
                    used = replace(received.prompt_usage or Usage(prompt=sent), completion=received.tokens)
                    tracker.record(question.kind, received.priced(used), choice.model)
                raise
        self.newest.fault = ""
        tracker.record(question.kind, usage, reply.answered_by or name)
        redact = self.secrets.redact
        calls = tuple(replace(call, arguments=redact(call.arguments)) for call in reply.tool_calls)
        return replace(reply, text=redact(reply.text), reasoning=redact(reply.reasoning), tool_calls=calls, usage=usage)

    async def _affordable(self, sent: int, name: str, limit: int, tracker: SpendingTracker) -> int:
        """The limit in tokens, reduced so that the call costs at most a fixed share of the remaining budget."""
        most = self._estimate(sent, name, limit)
        if not most or limit <= MIN_AFFORDABLE_TOKENS:
            return limit
        left = await tracker.load_left()
        if left is None or most * BUDGET_SHARE <= left:
            return limit
        least = self._estimate(sent, name, 0) or FREE
        tokens = (left / BUDGET_SHARE - least) / ((most - least) / limit) if most > least else Decimal(limit)
        return max(MIN_AFFORDABLE_TOKENS, int(tokens))

    def _estimate(self, sent: int, name: str, max_reply_tokens: int) -> Decimal | None:
        """The most that the call costs: its whole prompt may be written to the provider's cache, at a higher price."""
        prices = [
            self.model.price(Usage(prompt=sent, cache_written=written, completion=max_reply_tokens), name)
            for written in (0, sent)
        ]
        known = [price for price in prices if price is not None]
        return max(known) if len(known) == len(prices) else None


def _add_facts(facts: Facts, model: str, reply: Reply, usage: Usage) -> None:
    facts |= {"input": usage.prompt, "cached": usage.cached, "cache_written": usage.cache_written}
    facts |= {"output": usage.completion, "reasoning": usage.reasoning, "cost": float(usage.cost)}
    facts |= {"model": model, "finish": reply.finish_reason, "answered_by": reply.answered_by}


def _prompt_tokens(question: ModelRequest, model: ModelInUse) -> int:
    """The tokens of the messages and the schema, which endpoints count as part of the prompt."""
    schema = question.schema
    text = schema.text if isinstance(schema, ReplySchema) else json.dumps(schema) if schema else ""
    return TOKENS_PER_PROMPT + model.room.taken_by(question.prompt) + model.room.count(text)


@dataclass(slots=True)
class _Received:
    """What a call has received so far, so that its cost is charged even if it is cancelled or fails.

    The charge is a lower bound for a model that thinks without showing it: that part is known at its end at best.
    `price`: the prices of the model that was asked. `tokens`: of the reply; 0 until the endpoint has sent anything.
    """

    report: Callable[[ModelProgress], None] | None
    price: Pricing
    tokens: int = 0
    prompt_usage: Usage | None = None

    def use_price(self, price: Pricing) -> None:
        self.price = price

    def priced(self, usage: Usage) -> Usage:
        return replace(usage, cost=self.price(usage) or usage.cost)

    def note(self, progress: ModelProgress) -> None:
        self.prompt_usage = progress.prompt_usage or self.prompt_usage
        self.tokens = progress.tokens if progress.characters or self.prompt_usage else 0
        if self.report is not None:
            self.report(progress)
