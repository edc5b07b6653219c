"""Calls of language models as values: messages, pictures, replies, tokens used, and budgets in US dollars."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Self, TypeAlias

from agent_core.text.reasoning_tags import split_reasoning

FREE = Decimal(0)

CallKind: TypeAlias = Literal[
    "chat", "summary", "repair", "review", "answer", "draft", "function", "embedding", "image", "audio"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls, and US dollars.

    `cached` is the part of `prompt` that was read from the provider's cache and `cache_written` the part that was
    written to it; `reasoning` is a part of `completion`.
    """

    prompt: int = 0
    cached: int = 0
    cache_written: int = 0
    completion: int = 0
    reasoning: int = 0
    cost: Decimal = FREE

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            cache_written=self.cache_written + other.cache_written,
            completion=self.completion + other.completion,
            reasoning=self.reasoning + other.reasoning,
            cost=self.cost + other.cost,
        )


NO_USAGE = Usage()


def total_cost(spent: Mapping[CallKind, Usage]) -> Decimal:
    """The cost of all calls in US dollars."""
    return sum((usage.cost for usage in spent.values()), FREE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limit and the spending in US dollars; a `limit` of None is no limit.

    `estimated`: the part of `spent` that is an estimate, because a process ended during a call.
    """

    limit: Decimal | None = None
    spent: Decimal = FREE
    estimated: Decimal = FREE

    def spend(self, cost: Decimal, estimated: Decimal = FREE) -> Self:
        """The budget after a spending; `estimated` is the part of `cost` that is an estimate."""
        return replace(self, spent=self.spent + cost, estimated=self.estimated + estimated)

    def affords(self, estimate: Decimal) -> bool:
        """Whether a call that costs `estimate` stays within the limit."""
        return self.limit is None or self.spent + estimate <= self.limit

    def allows_less_than(self, limit: Decimal | None) -> bool:
        """Whether another limit allows more than this one."""
        return self.limit is not None and (limit is None or limit > self.limit)

    @property
    def nearly_spent(self) -> bool:
        """Whether 90 % is spent."""
        return self.limit is not None and self.spent >= self.limit * Decimal("0.9")


# An upper bound for 1,568 by 1,568 pixels: 1568 * 1568 / 750 = 3,279 tokens for Claude (platform.claude.com/docs,
# Vision); 1,536 * 2.46 = 3,779 for gpt-4.1-nano, and 85 + 8 * 170 = 1,445 for gpt-4o (developers.openai.com, Images and
# vision). gpt-4o-mini counts up to 48,169: it is underestimated before a call, and charged in full after it.
TOKENS_PER_IMAGE = 4_000
TURN_TOOL = "next_turn"  # the tool whose arguments are a reply


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model. `media_type` is image/png or image/jpeg."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt. Only models that take pictures are sent `images`."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[Image, ...] = ()

    def tokens(self, count: Callable[[str], int]) -> int:
        """The tokens of text and images. `count` counts those of a text; images are estimated on the high side."""
        return count(self.content) + TOKENS_PER_IMAGE * len(self.images)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native tool call of a model. `arguments` should be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply. `finish_reason` is `stop` for a complete reply, `length` for one that was cut off.

    `reasoning`: what the endpoint gives apart from the text; commands are never read from it.
    `answered_by`: the label of the fallback model if that answered, else "".
    """

    text: str
    usage: Usage
    finish_reason: str = "stop"
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answered_by: str = ""

    @property
    def is_cut_by_reasoning(self) -> bool:
        """Whether reasoning took so much room that the reply is cut off or empty."""
        has_reasoned = bool(self.usage.reasoning or self.reasoning)
        is_empty = not (self.answer or self.tool_calls)
        return has_reasoned and (is_empty or self.finish_reason == "length")

    @property
    def written_reasoning(self) -> str:
        """The reasoning that the endpoint gives apart, or that the model put between tags."""
        return self.reasoning.strip() or split_reasoning(self.text)[0]

    @property
    def answer(self) -> str:
        """The text after the reasoning that some models put between tags."""
        return split_reasoning(self.text)[1].strip()
