"""Every call to a language model on an agent's behalf: bounded, weighed before, priced and recorded after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.model.messages import Message, Reply
from agent_core.model.usage import CallKind, Usage
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.ports.models import LanguageModel, TokenCounters
from agent_core.prompt.packing import TOKENS_PER_PROMPT, TokenRoom
from agent_core.spending.spending_tracker import SpendingTracker

MAX_REPLY_TOKENS = 4_000
REPLY_SHARE_OF_WINDOW = 4  # of a window, a fourth is kept for the reply
ESTIMATE_MARGIN_PERCENT = (
    75  # percent: other tokenizers make up to a third more tokens of English and most European languages
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is asked. `most` are tokens of the reply; None is as many as are kept for one."""

    kind: CallKind
    prompt: Sequence[Message]
    schema: Mapping[str, object] | None = None
    most: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredModel:
    """Asks the model an agent thinks with, or `fast_model` for summaries and repairs where the operator named one."""

    model: LanguageModel
    tokens: TokenCounters
    fast_model: str = ""
    secrets: Secrets = NO_SECRETS

    def name_for(self, chosen: str, kind: CallKind = "chat") -> str:
        """The model that is asked where an agent's own is `chosen`: only turns use that where there is a fast one."""
        own = chosen or self.model.default_model
        return own if kind == "chat" else self.fast_model or own

    def longest_reply(self, name: str) -> int:
        """Tokens kept for a reply of this model."""
        return min(MAX_REPLY_TOKENS, self.model.window(name) // REPLY_SHARE_OF_WINDOW)

    def room(self, name: str) -> TokenRoom:
        """Tokens left for a prompt to this model; fewer where another tokenizer than its own counts them."""
        left, counter = self.model.window(name) - self.longest_reply(name), self.tokens.of(name)
        return TokenRoom(left if counter.is_exact else left * ESTIMATE_MARGIN_PERCENT // 100, counter.count)

    async def ask(self, question: ModelRequest, chosen: str, tracker: SpendingTracker) -> Reply:
        """The reply, paid for; raise OverBudget before the call, ModelUnavailable or ModelRefused after it.

        The operator's secrets go to no model, whoever wrote them into what is asked, and come from none.
        """
        prompt = [replace(message, content=self.secrets.hidden(message.content)) for message in question.prompt]
        name = self.name_for(chosen, question.kind)
        limit = min(question.most or MAX_REPLY_TOKENS, self.longest_reply(name))
        with tracker.call(self._estimate(prompt, name, limit), name or "this model"):
            reply = await self.model.complete(
                prompt,
                schema=question.schema,
                model=name,
                max_tokens=limit,
                temperature=question.temperature,
            )
        cost = self.model.price(reply.usage, name) or reply.usage.cost
        usage = replace(reply.usage, cost=cost)
        tracker.pay(question.kind, usage)
        return replace(reply, text=self.secrets.hidden(reply.text), usage=usage)

    def _estimate(self, prompt: Sequence[Message], name: str, most: int) -> Decimal | None:
        tokens = TOKENS_PER_PROMPT + TokenRoom(0, self.tokens.of(name).count).taken_by(prompt)
        return self.model.price(Usage(prompt=tokens, completion=most), name)
