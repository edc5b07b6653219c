"""Computes the drawings on the page *Activity* (time line, charts, texts of amounts) for a template's SVG. Pure.

Horizontal positions and widths are per cent of the drawing's width, so that it fits every screen; heights are pixels.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias

from adapters.screens.cards import money
from adapters.screens.durations import DAY, HOUR, MINUTE, short_span
from adapters.typed.management_commands import CALLS
from agent_core.model.agent import Agent
from agent_core.model.model_calls import CallKind, Usage
from agent_core.model.records.timing import HourUsage, TurnTimes
from agent_core.text.lines import one_line

Measure: TypeAlias = Literal["", "cost", "tokens"]
Phase: TypeAlias = Literal["thinking", "waiting", "running"]

LONGEST = timedelta(days=30)
TICKS = (("1m", MINUTE), ("1h", HOUR), ("1d", DAY))
LABEL_WIDTH = 18.0
LANE_WIDTH = (100 - LABEL_WIDTH) / 3
LONGEST_WIDTH = 0.6 * LANE_WIDTH  # the rest of a lane is for the text beside the bar
HEAD, TURN_HEIGHT, REST_HEIGHT = 40, 22, 20
MAX_COMMAND_CHARACTERS = 20
HOURS_HEIGHT, HOURS_HEAD, MIN_HOURS = 120, 20, 6
KIND_HEIGHT, KIND_WIDTH = 44, 70.0
MIN_WIDTH = 0.5
THREE_DECIMALS_BELOW = Decimal("0.1")  # US dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A rectangle with a text beside it. `is_open`: what it measures goes on."""

    x: float
    y: float
    width: float
    height: float
    text: str = ""
    kind: str = ""
    is_open: bool = False

    @property
    def end(self) -> float:
        return self.x + self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the time line: a turn with its bars, or a time at rest (`rest` is its text)."""

    y: float
    number: int = 0
    command: str = ""
    bars: tuple[Bar, ...] = ()
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A text at a place of the axis."""

    x: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """A row for each turn with a bar for each phase, all on one logarithmic scale. `ticks`: the marks of all lanes."""

    height: float
    lanes: tuple[Mark, ...]
    ticks: tuple[Mark, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars on a linear scale; `most` is the text of the longest."""

    height: float
    bars: tuple[Bar, ...]
    most: str = ""


def time_line(turns: Sequence[TurnTimes]) -> TimeLine:
    """The drawing of these turns in their order."""
    rows: list[Row] = []
    y: float = HEAD
    for each in turns:
        if each.rested >= timedelta(seconds=1):
            rows.append(Row(y=y, rest=f"at rest {short_span(each.rested)}"))
            y += REST_HEIGHT
        command = one_line(each.timing.command, MAX_COMMAND_CHARACTERS)
        rows.append(Row(y=y, number=each.timing.number, command=command, bars=_phases(each, y)))
        y += TURN_HEIGHT
    lanes = tuple(Mark(_lane(number), title) for number, title in enumerate(("Thinking", "Waiting", "Running")))
    ticks = tuple(Mark(lane.x + _width(timedelta(seconds=size)), text) for lane in lanes for text, size in TICKS)
    return TimeLine(height=y + 4, lanes=lanes, ticks=ticks, rows=tuple(rows))


def hour_chart(hours: Sequence[HourUsage], measure: Measure) -> Chart:
    """A column for each hour."""
    amounts = amounts_of((hour.usage for hour in hours), measure)
    most = max(amounts, default=Decimal(0))
    step = 100 / max(len(hours), MIN_HOURS)
    bars = tuple(
        Bar(x=number * step + step / 10, y=HOURS_HEAD + HOURS_HEIGHT - height, width=step * 0.8, height=height)
        for number, value in enumerate(amounts)
        if (height := _height(value, most))
    )
    return Chart(height=HOURS_HEAD + HOURS_HEIGHT + 1, bars=bars, most=amount_text(most, measure))


def kind_chart(kinds: Sequence[tuple[str, Usage]], measure: Measure) -> Chart:
    """A bar for each kind of call, with its name above it and its amount beside it."""
    amounts = amounts_of((usage for _, usage in kinds), measure)
    most = max(amounts, default=Decimal(0))
    bars = tuple(
        Bar(
            x=0,
            y=number * KIND_HEIGHT + 18,
            width=max(MIN_WIDTH, KIND_WIDTH * float(value / most)) if most else MIN_WIDTH,
            height=16,
            kind=kind,
            text=amount_text(value, measure),
        )
        for number, ((kind, _), value) in enumerate(zip(kinds, amounts, strict=True))
    )
    return Chart(height=len(bars) * KIND_HEIGHT, bars=bars)


def measure_of(agents: Sequence[Agent], *, is_demo: bool) -> Measure:
    """What to draw of the agents' usage: US dollars, or tokens where nothing has a price; "" for nothing.

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


def hours_between(hours: Sequence[HourUsage]) -> tuple[datetime, datetime]:
    """The beginning of the first hour, and the end of the last."""
    return hours[0].start, hours[-1].start + timedelta(hours=1)


def _dollars(units: int, decimals: int, exact: Decimal) -> str:
    """An amount that was rounded to these units of a dollar."""
    return f"${Decimal(units).scaleb(-decimals):,.{decimals}f}" if units else money(exact)


def _phases(each: TurnTimes, y: float) -> tuple[Bar, ...]:
    state = each.timing.state
    phases: tuple[tuple[Phase, timedelta | None, bool], ...] = (
        ("thinking", each.thought, False),
        ("waiting", each.waited, state == "proposed"),
        ("running", each.ran, state == "running"),
    )
    return tuple(
        Bar(
            x=_lane(lane),
            y=y + 4,
            width=max(MIN_WIDTH, _width(duration)),
            height=TURN_HEIGHT - 8,
            text=short_span(duration) + ("…" if is_open else ""),
            kind=phase,
            is_open=is_open,
        )
        for lane, (phase, duration, is_open) in enumerate(phases)
        if duration is not None
    )


def _lane(number: int) -> float:
    return LABEL_WIDTH + number * LANE_WIDTH


def _width(duration: timedelta) -> float:
    """The width of a duration: logarithmic, from nothing to LONGEST, where it ends."""
    share = math.log1p(duration.total_seconds()) / math.log1p(LONGEST.total_seconds())
    return LONGEST_WIDTH * min(share, 1)


def _height(value: Decimal, most: Decimal) -> float:
    """The height of a column; at least two pixels for an amount above zero."""
    return max(2.0, HOURS_HEIGHT * float(value / most)) if value > 0 else 0.0


def _add(total: dict[CallKind, Usage], calls: Mapping[CallKind, Usage]) -> None:
    for kind, usage in calls.items():
        total[kind] = total.get(kind, Usage()) + usage
