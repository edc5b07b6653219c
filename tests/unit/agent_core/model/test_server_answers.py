"""What people answer a tool server: read from a line and from a form in the same way, whatever is in it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import InvalidInput
from agent_core.model.note import Note
from agent_core.model.server_answers import (
    MAX_ANSWER_CHARACTERS,
    answer_example,
    answers,
    chosen_labels,
    field_id,
    field_lines,
    hint_text,
    is_answer,
    labels_text,
    line_of_form,
    read_answers,
    read_reply,
    read_value,
)
from agent_core.model.server_question import FieldFormat, FieldKind, QuestionField, ServerQuestion
from agent_core.testing.examples import ANA, NOON, an_agent

TEA = QuestionField(name="tea", kind="choice", choices={"Green": "g", "Black": "b"}, is_required=True)
NOTE, NOTES = QuestionField(name="note"), QuestionField(name="also", kind="choices", choices={"a, b": "1", "c;d": "2"})
EVERY = ServerQuestion(message="?", fields=(TEA, NOTE, NOTES))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60).map(str.strip)


@given(TEXTS, TEXTS)
def test_what_a_form_sends_is_read_as_it_was_written(first: str, second: str) -> None:
    question = ServerQuestion(message="?", fields=(NOTE, replace(NOTE, name="x: y"), replace(NOTE, name="2")))
    line = line_of_form(question, {field_id(0): first, field_id(1): second, field_id(2): "; tea: none"})
    written = {0: first.replace("\r\n", "\n"), 1: second.replace("\r\n", "\n"), 2: "; tea: none"}
    assert is_answer(line, is_form=True)
    assert read_reply(question, line) == {number: text.strip() for number, text in written.items() if text.strip()}


@given(TEXTS)
def test_a_lone_field_takes_any_text(text: str) -> None:
    lone = ServerQuestion(message="?", fields=(replace(NOTE, name="answer"),))
    written = text.replace("\r\n", "\n").strip()
    assert read_reply(lone, line_of_form(lone, {field_id(0): text})) == ({0: written} if written else {})


def test_choices_with_commas_and_semicolons_are_sent_whole() -> None:
    line = line_of_form(EVERY, {field_id(0): "green", field_id(2): labels_text(["a, b", "c;d"])})
    assert read_reply(EVERY, line) == {0: "g", 2: ["1", "2"]}
    assert chosen_labels('["a, b"]') == ["a, b"]
    assert chosen_labels("[a, b") == ["[a", "b"]


def test_a_form_names_each_wrong_field() -> None:
    mail = QuestionField(name="mail", title="Your address", format="email", is_required=True)
    question = ServerQuestion(message="?", fields=(TEA, mail, replace(NOTE, most=3)))
    with pytest.raises(InvalidInput) as refused:
        line_of_form(question, {field_id(0): "red", field_id(2): "long"})
    assert refused.value.problems == {
        field_id(0): "tea must be one of Green, Black.",
        field_id(1): "Your address is missing.",
        field_id(2): "note must be at most 3 characters.",
    }


def test_a_form_that_is_too_long_to_keep_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        line_of_form(EVERY, {field_id(0): "green", field_id(1): "x" * MAX_ANSWER_CHARACTERS})
    assert refused.value.problems == {field_id(1): "The answer has 4,018 characters, and 4,000 are the most."}


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


def test_a_name_that_a_line_could_not_hold_is_typed_by_its_number() -> None:
    question = ServerQuestion(message="?", fields=(replace(NOTE, name="a: b"), replace(NOTE, name="Tea"), TEA))
    assert question.keys == ("1", "2", "3")
    assert answer_example(question) == "answer 1: …; 2: …; 3: …"
    assert field_lines(question)[0] == "1: a text, may be left out · a: b"
    assert read_answers(question, "1: x; 3: Black") == {"a: b": "x", "tea": "b"}


def test_a_line_of_white_space_takes_no_time() -> None:
    question = ServerQuestion(message="?", fields=(NOTE, replace(NOTE, name="more")))
    assert read_reply(question, f"answer note:{' ' * 3_000}x;{' ' * 900}") == {0: "x"}


def test_a_hint_says_what_a_form_does_not_show() -> None:
    assert hint_text(TEA) == ""
    assert hint_text(NOTE) == ""
    assert hint_text(replace(NOTE, format="date", most=10)) == "a date such as 2026-11-30, at most 10 characters"
    assert hint_text(replace(NOTES, least=1)) == "at least 1 choice"


@pytest.mark.parametrize(("said", "is_one"), [("answer", True), ("Decline.", True), ("answers", False), ("no", False)])
def test_only_two_words_begin_an_answer(said: str, is_one: bool) -> None:
    assert is_answer(said) is is_one


def test_choices_that_differ_in_capital_letters_are_told_apart() -> None:
    unit = QuestionField(name="unit", kind="choice", choices={"M": "month", "m": "minute", "Year": "year"})
    assert [read_value(unit, written) for written in ("M", "m", "YEAR")] == ["month", "minute", "year"]
    several = replace(unit, kind="choices", choices={**unit.choices, "H": "hours", "h": "hour"})
    assert read_value(several, "M, h") == ["month", "hour"]
    question = ServerQuestion(message="?", fields=(unit,))
    assert read_reply(question, line_of_form(question, {"answer.0": "M"})) == {0: "month"}


def test_a_choice_in_other_capital_letters_that_fits_two_is_told() -> None:
    unit = QuestionField(name="unit", kind="choice", choices={"Min": "a", "MIN": "b"})
    with pytest.raises(ValueError, match="must be one of Min, MIN"):
        read_value(unit, "min")


@pytest.mark.parametrize(
    ("text", "form_of", "is_one"),
    [
        ("answer green", "", True),
        ("Answer the customer before noon", "", False),
        ("answer the customer before noon", "tea", True),
        (f"answer tea: green{';' * 2_000}", "", False),
    ],
)
def test_a_sentence_or_a_file_is_no_answer(text: str, form_of: str, is_one: bool) -> None:
    note = replace(Note.to(an_agent(), text, by=ANA, at=NOON), form_of=form_of)
    assert answers(note) is is_one
