"""The texts of amounts and durations, and columns that add up."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.screens.durations import span_text
from adapters.web.pages.amounts import added_texts, measure_of, percent_text, usage_by_kind
from agent_core.model.model_calls import Usage
from agent_core.testing.examples import an_agent

ADA = an_agent()
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
CHEAP = Usage(prompt=900, completion=100, cost=Decimal("0.10"))
DEAR = Usage(prompt=10, cost=Decimal("0.40"))


def test_kinds_of_calls_are_summed_over_agents_dearest_first() -> None:
    agents = (replace(ADA, calls={"chat": CHEAP}), replace(ADA, calls={"chat": CHEAP, "summary": DEAR}))
    kinds = usage_by_kind(agents)
    assert [(kind, usage.cost) for kind, usage in kinds] == [
        ("summaries", Decimal("0.40")),
        ("turns", Decimal("0.20")),
    ]


def test_tokens_are_told_where_nothing_has_a_price_and_nothing_for_a_script() -> None:
    free = replace(ADA, usage=Usage(prompt=10))
    assert measure_of([ADA], is_demo=False) == ""
    assert measure_of([ADA, free], is_demo=False) == "tokens"
    assert measure_of([free], is_demo=True) == ""
    assert measure_of([free, replace(ADA, usage=DEAR)], is_demo=True) == "cost"


@pytest.mark.parametrize(
    ("seconds", "whole"),
    [
        (0, "under 1 s"),
        (0.42, "under 1 s"),
        (9.96, "9.9 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (3_600 * 2 + 300, "2 h 5 min"),
        (86_400 * 3 + 3_600 * 4 + 59, "3 d 4 h"),
    ],
)
def test_durations_are_told_in_units_that_fit_them(seconds: float, whole: str) -> None:
    assert span_text(timedelta(seconds=seconds)) == whole


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
