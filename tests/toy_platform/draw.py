"""Draws messages and forms as lines of text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import singledispatch
from hashlib import sha256

from adapters.screens.form_parts import Form
from adapters.screens.message.fit import MessageLimits, fit
from adapters.screens.message.pieces import (
    About,
    Actions,
    Chooser,
    Controls,
    Facts,
    Heading,
    Help,
    Mentioned,
    Opens,
    Output,
    Piece,
    Rows,
    Screen,
    Since,
    Text,
    TurnList,
)


@dataclass(frozen=True, slots=True)
class ToyMessage:
    """Lines, and under their labels what each button sends. `subject`: by what the message is found again."""

    text: str
    buttons: dict[str, str]
    subject: str = ""

    @property
    def digest(self) -> bytes:
        """A hash of what is shown."""
        return sha256(repr((self.text, self.buttons)).encode()).digest()


@dataclass(frozen=True, slots=True)
class ToyForm:
    """Fields with what they are filled in with. `about`: what the reader of the form needs."""

    kind: str
    about: str
    fields: dict[str, str]


def draw(screen: Screen) -> ToyMessage:
    """The message."""
    fitted = fit(screen.pieces, LIMITS)
    lines = [line for piece in fitted for line in _lines(piece)]
    return ToyMessage("\n".join(lines), dict(_buttons(fitted)), ":".join(screen.subject))


def draw_form(form: Form) -> ToyForm:
    """The form; a field with options is filled in with what is chosen."""
    fields = {field.id: field.text or " ".join(field.chosen) for field in form.fields}
    return ToyForm(form.kind, form.about, fields)


def _buttons(pieces: Iterable[Piece]) -> Iterator[tuple[str, str]]:
    for piece in pieces:
        match piece:
            case Text(button=button) if button and not isinstance(button, Opens):
                yield button.label, str(button)
            case Controls(card=card, openings=openings):
                yield from ((each.label, str(each)) for each in card.buttons)
                yield from ((each.label, str(each)) for each in openings)
            case Actions(buttons):
                yield from ((each.label, str(each)) for each in buttons if not isinstance(each, Opens))
            case _:
                pass


@singledispatch
def _lines(piece: Piece) -> Iterable[str]:
    """The lines of a piece that was fitted; buttons have none."""
    assert isinstance(piece, Controls | Actions | Chooser)
    return ()


@_lines.register
def _(text: Text) -> Iterable[str]:
    said = _words(text.words)
    return (f"> {line}" for line in said.splitlines()) if text.style in ("said", "quote") else (said,)


@_lines.register
def _(heading: Heading) -> Iterable[str]:
    return f"== {heading.text} ==", f"{heading.sign} {_words(heading.state)}"


@_lines.register
def _(about: About) -> Iterable[str]:
    return about.name, about.role, *(f"- {goal}" for goal in about.goals)


@_lines.register
def _(shown: Help) -> Iterable[str]:
    return (shown.help.text,)


@_lines.register
def _(facts: Facts) -> Iterable[str]:
    for fact in facts.facts:
        yield f"{fact.label}: {fact.text or fact.instead}" + (f" … {fact.left} more" if fact.left else "")
    if facts.beyond:
        yield f"… {facts.beyond} more arguments"


@_lines.register
def _(output: Output) -> Iterable[str]:
    return f"| {output.text}", *(("| …",) if output.is_cut else ())


@_lines.register
def _(turns: TurnList) -> Iterable[str]:
    return _words(turns.title), *(line.signed_text for line in turns.lines)


@_lines.register
def _(listed: Rows) -> Iterable[str]:
    return *(_words(row.words) for row in listed.rows), f"and {listed.left} more {listed.what}"


def _words(words: Iterable[object]) -> str:
    return "".join(map(_word, words))


def _word(word: object) -> str:
    match word:
        case Mentioned(id, name):
            return f"@{name or id}"
        case Since(at):
            return f"since {at:%H:%M}"
        case datetime():
            return f"{word:%H:%M}"
        case _:
            return str(getattr(word, "text", word))


def _size(piece: Piece) -> int:
    return sum(len(line) + 1 for line in _lines(piece))


LIMITS = MessageLimits(
    message=2_000,
    roomy={
        "headline": 80,
        "state": 80,
        "says": 400,
        "plan": 100,
        "detail": 100,
        "review": 200,
        "remark": 100,
        "footer": 100,
        "outcome": 400,
        "ended says": 100,
        "arguments": 100,
        "ended outcome": 400,
        "name": 80,
        "role": 200,
        "goals": 400,
        "text": 1_000,
        "quote": 1_000,
        "short": 200,
        "row": 200,
        "called": 200,
        "line": 100,
    },
    tight={},
    size=len,
    quote_size=len,
    box_size=len,
    weight=len,
    drawn_size=_size,
    fact=20,
    facts=20,
    most_label=40,
    least_label=8,
    rows=20,
    lines_above=5,
    lines=10,
)
