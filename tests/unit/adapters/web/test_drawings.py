"""The shapes of the drawings: what is how wide, and what stands beside it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.screens.durations import short_span, span_text
from adapters.web.pages.drawings import (
    LANE_WIDTH,
    MIN_WIDTH,
    Row,
    added_texts,
    hour_chart,
    kind_chart,
    measure_of,
    percent_text,
    time_line,
    usage_by_kind,
)
from agent_core.model.model_calls import Usage
from agent_core.model.records.timing import HourUsage, Timing, TurnTimes
from agent_core.testing.examples import NOON, a_turn, an_agent

ADA = an_agent()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
CHEAP = Usage(prompt=900, completion=100, cost=Decimal("0.10"))
DEAR = Usage(prompt=10, cost=Decimal("0.40"))


def times(number: int = 1, **spans: timedelta) -> TurnTimes:
    timing = replace(Timing.of(a_turn(ADA, number=number)), state="done")
    known = {"thought": None, "waited": None, "ran": None, "rested": timedelta(0), **spans}
    return TurnTimes(timing=timing, **known)  # type: ignore[arg-type]


def row(turn: TurnTimes) -> Row:
    return time_line([turn]).rows[0]


@pytest.mark.proves("page:glance-scale")
def test_a_wait_of_days_leaves_seconds_visible() -> None:
    spans = (SECOND, 10 * SECOND, 60 * SECOND, HOUR, DAY, 7 * DAY)
    widths = [row(times(waited=span)).bars[0].width for span in spans]
    assert widths == sorted(widths)
    assert all(later - earlier > LANE_WIDTH / 20 for earlier, later in pairwise(widths))
    assert widths[0] > MIN_WIDTH


def test_no_bar_leaves_its_lane() -> None:
    long = 1000 * DAY
    line = time_line([times(thought=long, waited=long, ran=long)])
    assert [(bar.end < lane.x + LANE_WIDTH) for bar, lane in zip(line.rows[0].bars, line.lanes, strict=True)] == [
        True,
        True,
        True,
    ]
    assert line.rows[0].bars[0].text == "1000d"


def test_a_step_that_did_not_happen_or_is_not_known_has_no_bar() -> None:
    assert [bar.kind for bar in row(times(thought=SECOND, ran=SECOND)).bars] == ["thinking", "running"]
    assert row(times()).bars == ()


def test_what_goes_on_is_marked() -> None:
    asking = times(waited=HOUR)
    asking = replace(asking, timing=replace(asking.timing, state="proposed"))
    bar = row(asking).bars[0]
    assert (bar.is_open, bar.text) == (True, "1h…")


def test_a_time_at_rest_has_a_line_of_its_own_between_the_turns() -> None:
    rows = time_line([times(1), times(2, rested=2 * DAY)]).rows
    assert [(each.number, each.rest) for each in rows] == [(1, ""), (0, "at rest 2d"), (2, "")]
    assert [each.y for each in rows] == sorted({each.y for each in rows})


def test_a_long_name_of_a_command_is_cut() -> None:
    turn = times()
    long = replace(turn, timing=replace(turn.timing, command="x" * 500))
    assert len(row(long).command) <= 20


def test_hours_have_columns_in_proportion_and_none_for_nothing() -> None:
    usages = (CHEAP, Usage(), DEAR, Usage(cost=Decimal("0.0001")))
    chart = hour_chart([HourUsage(NOON + n * HOUR, usage) for n, usage in enumerate(usages)], "cost")
    assert ([bar.height for bar in chart.bars], chart.most) == ([30, 120, 2], "$0.40")
    assert all(first.end < second.x for first, second in pairwise(chart.bars))
    assert max(bar.end for bar in chart.bars) <= 100


def test_kinds_of_calls_are_summed_over_agents_dearest_first() -> None:
    agents = (replace(ADA, calls={"chat": CHEAP}), replace(ADA, calls={"chat": CHEAP, "summary": DEAR}))
    kinds = usage_by_kind(agents)
    assert [(kind, usage.cost) for kind, usage in kinds] == [
        ("summaries", Decimal("0.40")),
        ("turns", Decimal("0.20")),
    ]
    bars = kind_chart(kinds, "cost").bars
    assert [(bar.kind, bar.text) for bar in bars] == [("summaries", "$0.40"), ("turns", "$0.20")]
    assert bars[1].width == pytest.approx(bars[0].width / 2)


def test_tokens_are_drawn_where_nothing_has_a_price_and_nothing_for_a_script() -> None:
    free = replace(ADA, usage=Usage(prompt=10))
    assert measure_of([ADA], is_demo=False) == ""
    assert measure_of([ADA, free], is_demo=False) == "tokens"
    assert measure_of([free], is_demo=True) == ""
    assert measure_of([free, replace(ADA, usage=DEAR)], is_demo=True) == "cost"


def test_nothing_spent_draws_nothing() -> None:
    assert hour_chart([HourUsage(NOON, Usage())], "cost").bars == ()
    assert kind_chart([], "cost").height == 0


@pytest.mark.parametrize(
    ("seconds", "short", "whole"),
    [
        (0, "<1s", "under 1 s"),
        (0.42, "<1s", "under 1 s"),
        (9.96, "9s", "9.9 s"),
        (59.9, "59s", "59 s"),
        (60, "1m", "1 min"),
        (185, "3m", "3 min 5 s"),
        (3_600 * 2 + 300, "2h", "2 h 5 min"),
        (86_400 * 3 + 3_600 * 4 + 59, "3d", "3 d 4 h"),
    ],
)
def test_durations_are_told_in_units_that_fit_them(seconds: float, short: str, whole: str) -> None:
    duration = timedelta(seconds=seconds)
    assert (short_span(duration), span_text(duration)) == (short, whole)


@pytest.mark.parametrize(
    ("amounts", "texts", "together"),
    [
        (("0.0004", "0.0004", "0.0004"), ("$0.001", "<$0.001", "<$0.001"), "$0.001"),
        (("0.2046", "0.0123", "1.5"), ("$0.205", "$0.012", "$1.500"), "$1.717"),
        (("0.0005", "0.0005", "0"), ("$0.001", "<$0.001", "$0"), "$0.001"),
        (("0.254", "0.254", "0.104"), ("$0.26", "$0.25", "$0.10"), "$0.61"),
        ((), (), "$0"),
    ],
)
def test_amounts_of_a_column_add_up_to_what_is_shown_as_their_sum(
    amounts: tuple[str, ...], texts: tuple[str, ...], together: str
) -> None:
    assert added_texts([Decimal(each) for each in amounts], "cost") == (texts, together)
    assert added_texts([Decimal(1200), Decimal(3)], "tokens") == (("1,200", "3"), "1,203")


@pytest.mark.slow
@given(st.lists(st.decimals(0, 100, places=7), max_size=9))
def test_no_rounding_makes_the_parts_miss_the_whole(amounts: list[Decimal]) -> None:
    texts, together = added_texts(amounts, "cost")
    *shown, whole = (Decimal(0 if "<" in text else text.lstrip("$").replace(",", "")) for text in (*texts, together))
    assert sum(shown) == whole
    assert all(abs(each - amount) < Decimal("0.01") for each, amount in zip(shown, amounts, strict=True))


@pytest.mark.parametrize(("part", "shown"), [(0, "0%"), (1, "under 1%"), (10, "1%"), (999, "over 99%"), (1000, "100%")])
def test_only_nothing_is_no_per_cent_and_only_all_is_a_hundred(part: int, shown: str) -> None:
    assert percent_text(part, 1000) == shown
