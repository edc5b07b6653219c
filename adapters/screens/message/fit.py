"""Cuts the pieces of a message to a platform's limits: a function for each piece; facts share the rest.

Every text has its own limit. What is left of the message goes to the facts of the command, which share it fairly; if
they do not fit, the other texts of the card get less room first. A text that is cut says so, and a button shows it all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import singledispatch

from adapters.screens.buttons import ViewButton
from adapters.screens.message.pieces import (
    About,
    Controls,
    Fact,
    Facts,
    Heading,
    Mentioned,
    Mono,
    Output,
    Piece,
    Role,
    Rows,
    Since,
    Strong,
    Text,
    TurnList,
    Words,
)
from adapters.screens.text_fit import MARK, beginning_by_size, cut_by_size, shares
from adapters.screens.ui_text import EXCERPT_CHARACTERS, head_and_tail
from adapters.screens.visible_text import one_line, readable

EXCERPT_MARGIN, REST_LINE = 60, 40  # for the lines that count what is left out of an output and of a list


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimits:
    """What a message of a platform holds. Sizes are in UTF-16 code units as the platform counts them.

    `message`: all texts of a message. `roomy`: the most of each text; `tight`: what is less in a long card.
    `size`, `quote_size`, `box_size`: of a text in a paragraph, in a quotation and in a box, against its own limit.
    `weight`: of a text in a paragraph, against the limit of the message.
    `drawn_size`: of a piece as it is drawn. `fact`: what a fact takes besides label and text.
    `rows`: how many rows of a list. `lines_above`, `lines`: how many turns above a card, and in a folded card.
    """

    message: int
    roomy: Mapping[Role, int]
    tight: Mapping[Role, int]
    size: Callable[[str], int]
    quote_size: Callable[[str], int]
    box_size: Callable[[str], int]
    weight: Callable[[str], int]
    drawn_size: Callable[[Piece], int]
    fact: int
    facts: int
    most_label: int
    least_label: int
    rows: int
    lines_above: int
    lines: int


def fit(pieces: Sequence[Piece], limits: MessageLimits) -> tuple[Piece, ...]:
    """The pieces as they fit a message; `Controls` have the buttons that show what was cut."""
    fitted = [_fitted(piece, limits, limits.roomy) for piece in pieces]
    facts = next((piece for piece in pieces if isinstance(piece, Facts)), None)
    if facts:
        if limits.tight and sum(_whole_size(fact, limits) for fact in facts.facts) > _room(fitted, facts, limits):
            fitted = [_fitted(piece, limits, {**limits.roomy, **limits.tight}) for piece in pieces]
        shown = fit_facts(facts, _room(fitted, facts, limits), limits)
        at = pieces.index(facts)
        fitted[at : at + 1] = [shown, facts.more] if shown.is_cut else [shown]
    for at, piece in enumerate(fitted):
        if isinstance(piece, Controls):
            fitted[at] = replace(piece, openings=_openings(piece, fitted))
        elif isinstance(piece, Rows):
            fitted[at] = _listed(piece, fitted, limits)
    return tuple(fitted)


def fit_facts(facts: Facts, room: int, limits: MessageLimits) -> Facts:
    """The facts in `room` units: small ones whole, and the others share the rest equally."""
    shown = facts.facts[: min(limits.facts, max(1, room // (limits.fact + limits.least_label)))]
    if not shown:
        return facts
    most = max(limits.least_label, min(limits.most_label, room // (4 * len(shown))))
    labels = [cut_by_size(fact.label, most, limits.size) for fact in shown]
    room -= sum(map(limits.weight, labels)) + limits.fact * (len(shown) + (len(shown) < len(facts.facts)))
    given = shares([limits.box_size(fact.text) for fact in shown], room)
    texts = [beginning_by_size(fact.text, most, limits.box_size) for fact, most in zip(shown, given, strict=True)]
    fitted = tuple(
        replace(fact, label=label, text=text, left=len(fact.text) - len(text))
        for fact, label, text in zip(shown, labels, texts, strict=True)
    )
    beyond = len(facts.facts) - len(shown)
    is_cut = beyond > 0 or any(each.left or each.label != fact.label for each, fact in zip(fitted, shown, strict=True))
    return replace(facts, facts=fitted, beyond=beyond, is_cut=is_cut)


def _room(fitted: Iterable[Piece], facts: Facts, limits: MessageLimits) -> int:
    return limits.message - sum(limits.drawn_size(piece) for piece in (*fitted, facts.more) if piece is not facts)


def _whole_size(fact: Fact, limits: MessageLimits) -> int:
    return limits.weight(fact.label) + limits.box_size(fact.text) + limits.fact


@singledispatch
def _fitted(piece: Piece, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    """The piece, its texts cut to their own limits."""
    return piece


@_fitted.register
def _(text: Text, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    size = limits.quote_size if text.style in ("said", "quote") else limits.size
    words, left = _cut_words(text.words, most[text.role], size, is_line=text.style == "small")
    return replace(text, words=words, left=left)


@_fitted.register
def _(heading: Heading, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    whole = one_line(heading.text)
    headline = cut_by_size(whole, most["headline"], limits.size)
    state, left = _cut_words(heading.state, most["state"], limits.size, is_line=True)
    return replace(heading, text=headline, state=state, is_cut=headline != whole or left > 0)


@_fitted.register
def _(about: About, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    goals = tuple(one_line(goal) for goal in about.goals if goal.strip())
    given = shares([limits.weight(goal) for goal in goals], most["goals"])
    return About(
        cut_by_size(one_line(about.name), most["name"], limits.size),
        cut_by_size(one_line(about.role), most["role"], limits.size),
        tuple(cut_by_size(goal, room, limits.weight) for goal, room in zip(goals, given, strict=True)),
    )


@_fitted.register
def _(output: Output, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    room = most[output.role]
    lines, is_more = head_and_tail(readable(output.text), min(room - EXCERPT_MARGIN, EXCERPT_CHARACTERS))
    shown = cut_by_size(lines, room, limits.box_size)
    return replace(output, text=shown, is_cut=is_more or shown != lines)


@_fitted.register
def _(turns: TurnList, limits: MessageLimits, most: Mapping[Role, int]) -> Piece:
    many = limits.lines if turns.is_folded else limits.lines_above
    shown = tuple(replace(line, text=cut_by_size(line.text, most["line"], limits.size)) for line in turns.lines[-many:])
    title = _cut_words(turns.title, most["row"], limits.size, is_line=True)[0]
    return TurnList(shown, title, len(turns.lines) - len(shown))


def _listed(rows: Rows, fitted: Iterable[Piece], limits: MessageLimits) -> Rows:
    """As many rows as the message has room for."""
    room = limits.message - REST_LINE - sum(limits.drawn_size(piece) for piece in fitted if piece is not rows)
    shown: list[Text] = []
    for row in rows.rows[: limits.rows]:
        drawn = _fitted(row, limits, limits.roomy)
        room -= limits.drawn_size(drawn) + 1  # the end of its line
        if room < 0 or not isinstance(drawn, Text):
            break
        shown.append(drawn)
    return replace(rows, rows=tuple(shown), left=len(rows.rows) - len(shown))


def _openings(controls: Controls, fitted: Iterable[Piece]) -> tuple[ViewButton, ...]:
    """The buttons that show more, also what was cut, but for those that stand beside a text."""
    cut = [piece.opens for piece in fitted if isinstance(piece, Text | Heading | Output) and piece.is_cut]
    beside = [piece.button for piece in fitted if isinstance(piece, Text)]
    return tuple(each for each in dict.fromkeys((*controls.openings, *cut)) if each and each not in beside)


def _cut_words(words: Words, most: int, size: Callable[[str], int], *, is_line: bool) -> tuple[Words, int]:
    """The words in at most `most` units, not counting the times among them, and how many characters were cut away."""
    first, last = 0, len(words) - 1
    shown: list[str | datetime | Strong | Mono | Mentioned | Since] = []
    left = 0
    for at, word in enumerate(words):
        if not isinstance(word, str | Strong | Mono):
            shown.append(word)
            continue
        text = word if isinstance(word, str) else word.text
        said = _on_line(text) if is_line else readable(text).replace("\r\n", "\n")
        said = said.lstrip() if at == first else said
        said = said.rstrip() if at == last else said
        part = "" if left else cut_by_size(said, most, size)
        most -= size(part)
        left += 0 if part == said else len(said) - len(part) + len(MARK)
        if part:
            shown.append(part if isinstance(word, str) else replace(word, text=part))
    return tuple(shown), left


def _on_line(text: str) -> str:
    """The text on one line; the spaces at its ends, which join it to its neighbours, stay."""
    said = one_line(text)
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{' ' if before else ''}{said}{' ' if after and said else ''}"
