"""Calls language models for agents: bounds the reply, checks the budget before, records cost after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.model.messages import Message, Reply
from agent_core.model.usage import CallKind, Usage
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.ports.models import CallOptions, LanguageModel, TokenCounters
from agent_core.prompt.packing import TOKENS_PER_PROMPT, TokenRoom
from agent_core.spending.spending_tracker import SpendingTracker

MAX_REPLY_TOKENS = 4_000
REPLY_SHARE_OF_WINDOW = 4  # a fourth of the window is reserved for the reply
ESTIMATED_ROOM_PERCENT = 75  # models split European languages into up to a third more tokens than our estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to a model. `max_tokens` limits the reply; None allows as many as the window reserves for replies."""

    kind: CallKind
    prompt: Sequence[Message]
    schema: Mapping[str, object] | None = None
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredModel:
    """Calls the agent's own model for its turns, and `fast_model`, if set, for everything else."""

    model: LanguageModel
    tokens: TokenCounters
    fast_model: str = ""
    secrets: Secrets = NO_SECRETS

    def name_for(self, chosen: str, kind: CallKind = "chat") -> str:
        """The model for this kind of call. `chosen` is the agent's own model; "" is the default model."""
        own = chosen or self.model.default_model
        return own if kind == "chat" else self.fast_model or own

    def max_reply_tokens(self, name: str) -> int:
        """Tokens of the window that are reserved for the reply."""
        return min(MAX_REPLY_TOKENS, self.model.window(name) // REPLY_SHARE_OF_WINDOW)

    def room(self, name: str) -> TokenRoom:
        """Tokens left for the prompt, with a safety margin if the model's own tokenizer is not available."""
        left, counter = self.model.window(name) - self.max_reply_tokens(name), self.tokens.of(name)
        return TokenRoom(left if counter.is_exact else left * ESTIMATED_ROOM_PERCENT // 100, counter.count)

    async def ask(self, question: ModelRequest, chosen: str, tracker: SpendingTracker) -> Reply:
        """Return the reply and charge it; raise OverBudget before the call, ModelUnavailable, ModelRefused after it.

        The operator's secrets are redacted from the prompt and from the reply.
        """
        prompt = [replace(message, content=self.secrets.redact(message.content)) for message in question.prompt]
        name = self.name_for(chosen, question.kind)
        limit = min(question.max_tokens or MAX_REPLY_TOKENS, self.max_reply_tokens(name))
        options = CallOptions(max_tokens=limit, schema=question.schema, model=name, temperature=question.temperature)
        with tracker.reserve(self._estimate(prompt, name, limit), name or "this model"):
            reply = await self.model.complete(prompt, options)
        cost = self.model.price(reply.usage, name) or reply.usage.cost
        usage = replace(reply.usage, cost=cost)
        tracker.record(question.kind, usage)
        return replace(reply, text=self.secrets.redact(reply.text), usage=usage)

    def _estimate(self, prompt: Sequence[Message], name: str, max_reply_tokens: int) -> Decimal | None:
        tokens = TOKENS_PER_PROMPT + TokenRoom(0, self.tokens.of(name).count).taken_by(prompt)
        return self.model.price(Usage(prompt=tokens, completion=max_reply_tokens), name)
