"""Reads what people answer a tool server, from a form or a typed line, and writes a form as such a line. Pure.

A form becomes the line that a person could have typed. So the process that runs the call reads one thing only.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TypeAlias

from agent_core.errors import InvalidInput
from agent_core.model.note import Note
from agent_core.model.server_question import FieldFormat, QuestionField, ServerQuestion, chosen_label

MAX_ANSWER_CHARACTERS = 4_000
ANSWER = re.compile(r"\s*answer\b\s*:?", re.IGNORECASE)
DECLINE = re.compile(r"\s*decline\s*[.!]?\s*", re.IGNORECASE)
DECLINED = "decline"
MAX_TYPED_CHARACTERS = 2_000  # Discord turns a longer message into a file
MAX_BARE_WORDS = 4  # of an answer without a colon: "answer green"
# One field of a line: a JSON string, which may hold anything, or a text up to the next semicolon or line.
PART = re.compile(r'(?P<quoted>"(?:[^"\\\n]|\\.)*")\s*(?=[;\n]|\Z)|(?P<plain>[^;\n]*)')
ENDS_KEY = re.compile(r"[:;\n]")
SEPARATORS = " \t\r\n;"
NEEDS_QUOTES = re.compile(r'[;\n\r]|^\s*"|^\s|\s$')
YES, NO = ("yes", "true", "ja", "oui", "sí"), ("no", "false", "nein", "non")
WHOLE_NUMBER = re.compile(r"[+-]?\d{1,15}")  # digits of any script, which int and float read too
NUMBER = re.compile(r"[+-]?(?:\d+[.٫]?\d*|[.٫]\d+)(?:[eE][+-]?\d{1,3})?")
EMAIL, URI = re.compile(r"[^@\s]{1,200}@[^@\s]{1,200}"), re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:\S+")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
Values: TypeAlias = Mapping[int, object]


class WrongAnswer(ValueError):
    """An answer that does not fit its field; the text says why."""


def field_id(number: int) -> str:
    """The name of a field's input in a form: servers do not choose it."""
    return f"answer.{number}"


def read_line(question: ServerQuestion, text: str) -> Values:
    """The values by the numbers of their fields, from `name: value; name: value`, or the whole text for a lone field.

    A value in quotation marks is a JSON string. Raise WrongAnswer.
    """
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise WrongAnswer(f"it has more than {MAX_ANSWER_CHARACTERS:,} characters.")
    given, values = _given(question, text), {}
    for number, each in enumerate(question.fields):
        try:
            if (value := read_value(each, given.get(number, ""))) is not None:
                values[number] = value
        except WrongAnswer as wrong:
            raise WrongAnswer(f"{each.name} {wrong}") from None
    return values


def answers(note: Note) -> bool:
    """Whether a note answers or declines a question: a form, or a line short enough to be typed and no file."""
    is_typed = len(note.text) <= MAX_TYPED_CHARACTERS and not note.is_forwarded
    return is_answer(note.text, is_form=True) if note.form_of else is_typed and is_answer(note.text)


def is_answer(text: str, *, is_form: bool = False) -> bool:
    """Whether a reply answers or declines a question. "Answer the customer before noon" is for people."""
    is_meant = is_form or ":" in text or len(text.split()) <= MAX_BARE_WORDS
    return (is_meant and ANSWER.match(text) is not None) or DECLINE.fullmatch(text) is not None


def read_reply(question: ServerQuestion, text: str) -> Values | None:
    """What a reply of `is_answer` says: the values as `read_line` gives them, or None if it declines."""
    begins = ANSWER.match(text)
    return read_line(question, text[begins.end() :]) if begins else None


def read_answers(question: ServerQuestion, text: str) -> Mapping[str, object]:
    """The values by the names of their fields, as `read_line` reads them."""
    return {question.fields[number].name: value for number, value in read_line(question, text).items()}


def line_of_form(question: ServerQuestion, form: Mapping[str, str]) -> str:
    """The line for what was filled in, by `field_id`; raise InvalidInput with a sentence for each wrong field."""
    problems, parts = dict[str, str](), list[str]()
    for number, (key, each) in enumerate(zip(question.keys, question.fields, strict=True)):
        written = form.get(field_id(number), "").replace("\r\n", "\n").strip()
        try:
            read_value(each, written)
        except WrongAnswer as wrong:
            problems[field_id(number)] = f"{each.label} {wrong}"
        if written:
            parts.append(f"{key}: {json.dumps(written, ensure_ascii=False) if _needs_quotes(written) else written}")
    line = "; ".join(parts)
    if not problems and len(line) > MAX_ANSWER_CHARACTERS:
        longest = max(form, key=lambda field: len(form[field]))
        problems[longest] = f"The answer has {len(line):,} characters, and {MAX_ANSWER_CHARACTERS:,} are the most."
    if problems:
        raise InvalidInput(problems)
    return f"answer {line}".strip()


def answer_example(question: ServerQuestion) -> str:
    """What a person types to answer."""
    return f"answer {'; '.join(f'{key}: …' for key in question.keys)}".strip()


def field_lines(question: ServerQuestion) -> list[str]:
    """A line on each field: by what it is called, what it takes, and what the server says of it."""
    return [_field_line(key, each) for key, each in zip(question.keys, question.fields, strict=True)]


def _field_line(key: str, each: QuestionField) -> str:
    wanted = wanted_text(each)
    needed = "" if each.is_required else ", may be left out"
    suggested = f", suggested: {each.default}" if each.default else ""
    about = " · ".join(filter(None, ("" if key == each.name else each.name, each.title, each.description)))
    return f"{key}: {wanted}{needed}{suggested}{' · ' if about else ''}{about}"


def wanted_text(each: QuestionField) -> str:
    """What a field takes, for people who type it."""
    kind = f"{_wanted(each)}, with commas" if each.kind == "choices" else _wanted(each)
    return ", ".join(filter(None, (kind, limits_text(each))))


def hint_text(each: QuestionField) -> str:
    """What a field takes, for people who fill in a form, where menus show what can be chosen."""
    is_shown = each.kind in ("choice", "choices", "yes or no") or (each.kind == "text" and not each.format)
    return ", ".join(filter(None, ("" if is_shown else _wanted(each), limits_text(each))))


def limits_text(each: QuestionField) -> str:
    """The limits of a field, such as `at least 1, at most 9`; "" without limits."""
    limits = ((each.least, "at least"), (each.most, "at most"))
    return ", ".join(f"{word} {_amount(each, limit)}" for limit, word in limits if limit is not None)


def _amount(each: QuestionField, limit: float) -> str:
    unit = {"text": " character", "choices": " choice"}.get(each.kind, "")
    return f"{limit:,.15g}{unit}{'s' if unit and limit != 1 else ''}"


def labels_text(labels: Sequence[str]) -> str:
    """Several choices as a person would write them; as a JSON list if one has a comma in it."""
    plain = all("," not in label and label == label.strip() for label in labels)
    return ", ".join(labels) if plain else json.dumps([*labels], ensure_ascii=False)


def chosen_labels(written: str) -> list[str]:
    """The labels in a text as `labels_text` writes it."""
    if written.lstrip().startswith("["):
        try:
            listed = json.loads(written)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list):
            return [str(each) for each in listed]
    return [part.strip() for part in written.split(",") if part.strip()]


def _needs_quotes(written: str) -> bool:
    return NEEDS_QUOTES.search(written) is not None


def _given(question: ServerQuestion, text: str) -> dict[int, str]:
    """What was written for each field."""
    numbers = {key.casefold(): number for number, key in enumerate(question.keys)}
    if len(numbers) == 1:
        return {0: _of_lone_field(next(iter(numbers)), text)}
    given, at = dict[int, str](), 0
    while rest := text[at:].lstrip(SEPARATORS):
        at = len(text) - len(rest)
        ends = ENDS_KEY.search(text, at)
        number = numbers.get(text[at : ends.start()].strip().casefold()) if ends and ends[0] == ":" else None
        if ends is None or number is None:
            line = re.split(r"[;\n]", rest)[0].strip()
            raise WrongAnswer(f"“{line[:60]}” names no field. Write each as name: value, with ; between them.")
        at = ends.end() + len(text[ends.end() :]) - len(text[ends.end() :].lstrip(" \t"))
        part = PART.match(text, at)
        given[number] = _unquoted(part[0].strip()) if part else ""
        at = part.end() if part else at
    return given


def _of_lone_field(key: str, text: str) -> str:
    name, colon, value = text.partition(":")
    return _unquoted((value if colon and name.strip().casefold() == key else text).strip())


def _unquoted(written: str) -> str:
    if written.startswith('"'):
        try:
            read = json.loads(written)
        except (ValueError, RecursionError):
            return written
        return read if isinstance(read, str) else written
    return written


def read_value(each: QuestionField, written: str) -> object | None:
    """The value of a field; None for one that was left out. Raise WrongAnswer without the name of the field."""
    written = written.strip()
    if not written:
        if each.is_required:
            raise WrongAnswer("is missing.")
        return None
    try:
        value = _typed(each, written)
    except (ValueError, KeyError):
        raise WrongAnswer(f"must be {_wanted(each)}.") from None
    _check_size(each, value)
    return value


def _typed(each: QuestionField, written: str) -> object:
    match each.kind:
        case "text":
            return _formatted(each.format, written)
        case "number":
            return _number(written)
        case "whole number":
            return int(_matching(WHOLE_NUMBER, written))
        case "yes or no":
            return _yes_or_no(written.casefold())
        case "choice":
            return each.choices[chosen_label(each.choices, written)]
        case "choices":
            return [each.choices[chosen_label(each.choices, label)] for label in chosen_labels(written)]


def _wanted(each: QuestionField) -> str:
    wanted = {
        "choice": f"one of {', '.join(each.choices)}",
        "choices": f"some of {', '.join(each.choices)}",
        "yes or no": "yes or no",
        "text": FORMAT_TEXTS.get(each.format, "a text"),
    }
    return wanted.get(each.kind, f"a {each.kind}")


def _check_size(each: QuestionField, value: object) -> None:
    match value:
        case bool():
            return
        case int() | float():
            size = float(value)
        case str() | list() if each.kind in ("text", "choices"):
            size = float(len(value))
        case _:
            return
    if each.least is not None and size < each.least:
        raise WrongAnswer(f"must be at least {_amount(each, each.least)}.")
    if each.most is not None and size > each.most:
        raise WrongAnswer(f"must be at most {_amount(each, each.most)}.")


def _formatted(kind: FieldFormat, written: str) -> str:
    check = FORMAT_CHECKS.get(kind)
    if check:
        check(written)
    return written


def _date(written: str) -> None:
    date.fromisoformat(_matching(DATE, written))


def _date_time(written: str) -> None:
    if "T" not in written.upper() or datetime.fromisoformat(written.upper()).tzinfo is None:
        raise ValueError


def _matching(pattern: re.Pattern[str], written: str) -> str:
    if not pattern.fullmatch(written):
        raise ValueError
    return written


def _number(written: str) -> float:
    number = float(_matching(NUMBER, written).replace("٫", "."))
    if not math.isfinite(number):
        raise ValueError
    return number


def _yes_or_no(written: str) -> bool:
    if written in YES:
        return True
    if written in NO:
        return False
    raise ValueError


FORMAT_CHECKS: Mapping[FieldFormat, Callable[[str], object]] = {
    "email": lambda written: _matching(EMAIL, written),
    "uri": lambda written: _matching(URI, written),
    "date": _date,
    "date-time": _date_time,
}
FORMAT_TEXTS: Mapping[FieldFormat, str] = {
    "email": "an email address",
    "uri": "an address such as https://example.com/",
    "date": "a date such as 2026-11-30",
    "date-time": "a date and time such as 2026-11-30T09:00:00Z",
}
