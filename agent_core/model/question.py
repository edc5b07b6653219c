"""What a tool server asks people during a call: its fields, how typed values are read and checked, and the answer."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal, Self, TypeAlias

from agent_core.model.origin import Actor

FieldKind: TypeAlias = Literal["text", "number", "whole number", "yes or no", "choice", "choices"]
FieldFormat: TypeAlias = Literal["", "email", "uri", "date", "date-time"]
FORMATS: tuple[FieldFormat, ...] = ("email", "uri", "date", "date-time")
YES, NO = ("yes", "true", "ja", "oui", "sí"), ("no", "false", "nein", "non")
WHOLE_NUMBER = re.compile(r"[+-]?\d{1,15}")  # digits of any script, which int and float read too
NUMBER = re.compile(r"[+-]?(?:\d+[.٫]?\d*|[.٫]\d+)(?:[eE][+-]?\d{1,3})?")
EMAIL, URI = re.compile(r"[^@\s]{1,200}@[^@\s]{1,200}"), re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:\S+")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionField:
    """What a server wants to know. `choices`: what can be chosen, each with the value that the server gets.

    `default`: what the server suggests, as a person would write it; "" for nothing.
    `least`, `most`: of a number; of the characters of a text; of the choices that are taken.
    """

    name: str
    title: str = ""
    description: str = ""
    kind: FieldKind = "text"
    choices: Mapping[str, str] = field(default_factory=dict)
    is_required: bool = False
    default: str = ""
    format: FieldFormat = ""
    least: float | None = None
    most: float | None = None

    @property
    def label(self) -> str:
        """What a form calls it."""
        return self.title or self.name


class WrongAnswer(ValueError):
    """An answer that does not fit its field; the text says why."""


def field_id(number: int) -> str:
    """The name of a field's input in a form: servers do not choose it."""
    return f"answer.{number}"


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


def field_line(each: QuestionField) -> str:
    """A line on the field: its name, what it takes, and what the server says of it."""
    kind = f"{_wanted(each)}, with commas" if each.kind == "choices" else _wanted(each)
    wanted = ", ".join(filter(None, (kind, _limits(each))))
    needed = "" if each.is_required else ", may be left out"
    suggested = f", suggested: {each.default}" if each.default else ""
    about = " · ".join(filter(None, (each.title, each.description)))
    return f"{each.name}: {wanted}{needed}{suggested}{' · ' if about else ''}{about}"


def hint_text(each: QuestionField) -> str:
    """What a field takes, for people who fill in a form, where menus show what can be chosen."""
    is_shown = each.kind in ("choice", "choices", "yes or no") or (each.kind == "text" and not each.format)
    return ", ".join(filter(None, ("" if is_shown else _wanted(each), _limits(each))))


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


def chosen_label(labels: Iterable[str], written: str) -> str:
    """The label that was written, in any case if one alone fits; raise KeyError."""
    known = [*labels]
    if written in known:
        return written
    found = [label for label in known if label.casefold() == written.casefold()]
    if len(found) != 1:
        raise KeyError(written)
    return found[0]


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


def _limits(each: QuestionField) -> str:
    """The limits of a field, such as `at least 1, at most 9`; "" without limits."""
    limits = ((each.least, "at least"), (each.most, "at most"))
    return ", ".join(f"{word} {_amount(each, limit)}" for limit, word in limits if limit is not None)


def _amount(each: QuestionField, limit: float) -> str:
    unit = {"text": " character", "choices": " choice"}.get(each.kind, "")
    return f"{limit:,.15g}{unit}{'s' if unit and limit != 1 else ''}"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerQuestion:
    """What a server asks people during a call, as they are shown it."""

    message: str
    fields: tuple[QuestionField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question on the turn of its call. `id`: the hash that its buttons and forms carry.

    `server`, `place`: who asks, and to where the answer goes, in the operator's words.
    `answered_by`, `answered_at`, `is_declined`, `written`: the first answer, after which there is no other.
    `written`: what was filled in, by the number of the field; "" for what was left out, () if it was declined.
    """

    id: str
    server: str
    place: str
    question: ServerQuestion
    at: datetime
    answered_by: Actor | None = None
    answered_at: datetime | None = None
    is_declined: bool = False
    written: tuple[str, ...] = ()

    def answer(self, by: Actor, at: datetime, *written: str) -> Self:
        """The question with its answer, of which each field was checked."""
        return replace(self, answered_by=by, answered_at=at, written=written)

    def decline(self, by: Actor, at: datetime) -> Self:
        return replace(self, answered_by=by, answered_at=at, is_declined=True)

    def without_texts(self) -> Self:
        """Who answered, without what was asked and written: for a turn whose call has ended."""
        return replace(self, question=ServerQuestion(message=""), written=())
