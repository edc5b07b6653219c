"""Tokens and dollars as text, for the page *Activity* and a thread: what is told, and columns that add up. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from adapters.screens.cards import money
from adapters.typed.management_commands import CALLS
from agent_core.model.agent import Agent
from agent_core.model.model_calls import CallKind, Usage

Measure: TypeAlias = Literal["", "cost", "tokens"]

THREE_DECIMALS_BELOW = Decimal("0.1")  # US dollars


def measure_of(agents: Sequence[Agent], *, is_demo: bool) -> Measure:
    """What to tell of the agents' usage: US dollars, or tokens where nothing has a price; "" for nothing.

    The script of demo mode has no price and uses no tokens.
    """
    if any(agent.usage.cost for agent in agents):
        return "cost"
    is_used = any(agent.usage.prompt or agent.usage.completion for agent in agents)
    return "tokens" if is_used and not is_demo else ""


def usage_by_kind(agents: Sequence[Agent]) -> list[tuple[str, Usage]]:
    """The usage of each kind of call with its name, of all these agents together, highest cost first."""
    total: dict[CallKind, Usage] = {}
    for agent in agents:
        _add(total, agent.calls)
    dearest = sorted(total.items(), key=lambda call: (call[1].cost, call[1].prompt), reverse=True)
    return [(CALLS[kind], usage) for kind, usage in dearest]


def amount(usage: Usage, measure: Measure) -> Decimal:
    """US dollars, or a number of tokens."""
    return usage.cost if measure == "cost" else Decimal(usage.prompt + usage.completion)


def amounts_of(usages: Iterable[Usage], measure: Measure) -> list[Decimal]:
    return [amount(usage, measure) for usage in usages]


def amount_text(value: Decimal, measure: Measure) -> str:
    return money(value) if measure == "cost" else f"{int(value):,}"


def added_texts(amounts: Sequence[Decimal], measure: Measure) -> tuple[tuple[str, ...], str]:
    """The texts of these amounts, and of their sum, as a column of a table: what is shown adds up.

    Dollars have three decimals if one is below 10 cents, as `money` has. Those that lose most by rounding down are
    rounded up, as many as the sum asks for.
    """
    whole = sum(amounts, Decimal(0))
    if measure != "cost":
        return tuple(amount_text(value, measure) for value in amounts), amount_text(whole, measure)
    decimals = 3 if any(0 < value < THREE_DECIMALS_BELOW for value in amounts) else 2
    exact = [value.scaleb(decimals) for value in amounts]
    rounded = [int(value) for value in exact]
    losses = sorted(range(len(exact)), key=lambda place: exact[place] - rounded[place], reverse=True)
    for place in losses[: round(sum(exact)) - sum(rounded)]:
        rounded[place] += 1
    texts = (_dollars(units, decimals, value) for units, value in zip(rounded, amounts, strict=True))
    return tuple(texts), _dollars(sum(rounded), decimals, whole)


def percent_text(part: int, whole: int) -> str:
    """A part of the whole in per cent: 0% and 100% only for none and all."""
    if 0 < part * 100 < whole:
        return "under 1%"
    if 0 < (whole - part) * 100 < whole:
        return "over 99%"
    return f"{100 * part // whole}%"


def _dollars(units: int, decimals: int, exact: Decimal) -> str:
    """An amount that was rounded to these units of a dollar."""
    return f"${Decimal(units).scaleb(-decimals):,.{decimals}f}" if units else money(exact)


def _add(total: dict[CallKind, Usage], calls: Mapping[CallKind, Usage]) -> None:
    for kind, usage in calls.items():
        total[kind] = total.get(kind, Usage()) + usage
