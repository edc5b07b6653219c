"""What a tool server asks people in the middle of a call, as they are shown it. All texts are the server's."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from agent_core.model.actors import Actor

FieldKind: TypeAlias = Literal["text", "number", "whole number", "yes or no", "choice", "choices"]
FieldFormat: TypeAlias = Literal["", "email", "uri", "date", "date-time"]
FORMATS: tuple[FieldFormat, ...] = ("email", "uri", "date", "date-time")
PLAIN_KEY = re.compile(r"(?!\d+\Z)[^:;\"\n]{1,60}")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerQuestion:
    """What a server asks people during a call."""

    message: str
    fields: tuple[QuestionField, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """By what a typed answer calls each field: its name, or its number where the name would be unclear."""
        names = [each.name.casefold() for each in self.fields]
        return tuple(
            each.name if PLAIN_KEY.fullmatch(each.name) and names.count(each.name.casefold()) == 1 else str(number)
            for number, each in enumerate(self.fields, 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question on the turn of its call. `id`: the hash that its buttons and forms carry.

    `server`, `place`: who asks, and to where the answer goes, in the operator's words.
    `answered_by`, `answered_at`, `is_declined`: the first answer, after which there is no other.
    """

    id: str
    server: str
    place: str
    question: ServerQuestion
    at: datetime
    answered_by: Actor | None = None
    answered_at: datetime | None = None
    is_declined: bool = False

    def answer(self, by: Actor, at: datetime, *, is_declined: bool) -> Self:
        return replace(self, answered_by=by, answered_at=at, is_declined=is_declined)

    def without_texts(self) -> Self:
        """Who answered, without what was asked: for a turn whose call has ended."""
        return replace(self, question=ServerQuestion(message=""))


def chosen_label(labels: Iterable[str], written: str) -> str:
    """The label that was written, in any case if one alone fits; raise KeyError."""
    known = [*labels]
    if written in known:
        return written
    found = [label for label in known if label.casefold() == written.casefold()]
    if len(found) != 1:
        raise KeyError(written)
    return found[0]
