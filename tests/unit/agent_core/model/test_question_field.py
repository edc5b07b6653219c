"""One field of a question to people: how its value is read, whatever is in it, and what people are told of it."""

from dataclasses import replace

import pytest

from agent_core.model.question import (
    FieldFormat,
    FieldKind,
    QuestionField,
    chosen_labels,
    field_line,
    hint_text,
    labels_text,
    read_value,
)

TEA = QuestionField(name="tea", kind="choice", choices={"Green": "g", "Black": "b"}, is_required=True)
NOTE, NOTES = QuestionField(name="note"), QuestionField(name="also", kind="choices", choices={"a, b": "1", "c;d": "2"})


def test_choices_with_commas_and_semicolons_are_read_whole() -> None:
    assert read_value(NOTES, labels_text(["a, b", "c;d"])) == ["1", "2"]
    assert chosen_labels('["a, b"]') == ["a, b"]
    assert chosen_labels("[a, b") == ["[a", "b"]


def test_a_field_that_is_left_out_has_no_value_and_one_that_is_required_is_missing() -> None:
    assert read_value(NOTE, " ") is None
    with pytest.raises(ValueError, match=r"is missing\."):
        read_value(TEA, " ")


def test_a_line_says_what_a_field_takes_and_what_the_server_says_of_it() -> None:
    cups = QuestionField(name="cups", title="How many", kind="whole number", least=1, default="2", is_required=True)
    assert field_line(cups) == "cups: a whole number, at least 1, suggested: 2 · How many"
    several = replace(TEA, kind="choices", most=1)
    assert field_line(several) == "tea: some of Green, Black, with commas, at most 1 choice"


@pytest.mark.parametrize(
    ("kind", "form", "right", "wrong"),
    [
        ("text", "email", "ana@example.org", "ana"),
        ("text", "uri", "https://example.org/a", "example.org/a"),
        ("text", "date", "2026-02-28", "2026-02-30"),
        ("text", "date", "2026-02-28", "20260228"),
        ("text", "date-time", "2026-02-28T10:00:00Z", "2026-02-28T10:00:00"),
        ("whole number", "", "-3", "3.0"),
        ("whole number", "", "12", "1_2"),
        ("number", "", "2.5e3", "2,5"),
        ("number", "", ".5", "1e999"),
        ("yes or no", "", "Yes", "y"),
    ],
)
def test_a_value_is_checked_by_its_kind(kind: FieldKind, form: FieldFormat, right: str, wrong: str) -> None:
    field = QuestionField(name="it", kind=kind, format=form)
    assert read_value(field, right) is not None
    with pytest.raises(ValueError, match="must be"):
        read_value(field, wrong)


@pytest.mark.parametrize(("written", "value"), [("٢", 2), ("１２", 12), ("-९", -9)])
def test_a_number_is_read_in_the_digits_of_any_script(written: str, value: int) -> None:
    assert read_value(QuestionField(name="it", kind="whole number"), written) == value
    assert read_value(QuestionField(name="it", kind="number"), f"{written}٫٥") == (abs(value) + 0.5) * (
        value / abs(value)
    )


@pytest.mark.parametrize(
    ("field", "written", "why"),
    [
        (QuestionField(name="it", kind="number", least=2), "1.5", "must be at least 2."),
        (QuestionField(name="it", kind="whole number", most=9), "10", "must be at most 9."),
        (QuestionField(name="it", kind="number", most=1_234_567), "2e6", "must be at most 1,234,567."),
        (QuestionField(name="it", least=3), "ab", "must be at least 3 characters."),
        (replace(NOTES, most=1), '["a, b", "c;d"]', "must be at most 1 choice."),
    ],
)
def test_limits_are_kept(field: QuestionField, written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_value(field, written)


def test_a_hint_says_what_a_form_does_not_show() -> None:
    assert hint_text(TEA) == ""
    assert hint_text(NOTE) == ""
    assert hint_text(replace(NOTE, format="date", most=10)) == "a date such as 2026-11-30, at most 10 characters"
    assert hint_text(replace(NOTES, least=1)) == "at least 1 choice"


def test_choices_that_differ_in_capital_letters_are_told_apart() -> None:
    unit = QuestionField(name="unit", kind="choice", choices={"M": "month", "m": "minute", "Year": "year"})
    assert [read_value(unit, written) for written in ("M", "m", "YEAR")] == ["month", "minute", "year"]
    several = replace(unit, kind="choices", choices={**unit.choices, "H": "hours", "h": "hour"})
    assert read_value(several, "M, h") == ["month", "hour"]


def test_a_choice_in_other_capital_letters_that_fits_two_is_told() -> None:
    unit = QuestionField(name="unit", kind="choice", choices={"Min": "a", "MIN": "b"})
    with pytest.raises(ValueError, match="must be one of Min, MIN"):
        read_value(unit, "min")
