"""Token usage of model calls, and budgets in US dollars."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Self, TypeAlias

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
