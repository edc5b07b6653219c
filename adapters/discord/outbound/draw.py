"""Draws the pieces of a message as Discord components: a function for each piece, texts, colours, and the limits.

Discord reads markdown in every text: an untrusted one is escaped, quoted, or put into a box that it cannot leave.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import singledispatch
from itertools import groupby
from typing import Any

from discord import ui

from adapters.discord.outbound.controls import Item, card_controls, element, link_button, rows, turn_choosers
from adapters.discord.outbound.message import (
    FENCE,
    NOTHING,
    DiscordMessage,
    boxed,
    can_be_boxed,
    compose,
    escaped,
    escaped_size,
    quoted,
    quoted_size,
    timestamp,
)
from adapters.screens.cards import Card
from adapters.screens.message.fit import MessageLimits, fit
from adapters.screens.message.pieces import (
    About,
    Actions,
    Chooser,
    Controls,
    Fact,
    Facts,
    Heading,
    Help,
    Mentioned,
    Mono,
    Opens,
    Output,
    Piece,
    Pressable,
    Rows,
    Screen,
    Since,
    Strong,
    Text,
    TurnList,
)
from adapters.screens.risk_labels import Level
from adapters.screens.text_fit import units
from adapters.screens.turn_state import Tone
from adapters.screens.ui_text import more_text
from adapters.screens.visible_text import visible
from adapters.typed.answers import Attachment
from agent_core.text.lines import counted

# Limit of all texts in a message, https://discord.com/developers/docs/components/reference.
MAX_MESSAGE_TEXT = 4_000
MAX_SECTIONS = 11  # a section is three of the 40 components of a message
MAX_INLINE_VALUE = 100
PARAGRAPHS = ("text", "quote")  # of these a cut says how much is left out; the whole text is in a file
COLOURS: dict[Tone, int] = {
    "open": 0xE0A030,
    "busy": 0x3B7DD8,
    "good": 0x2F9E5F,
    "bad": 0xC9483F,
    "quiet": 0x8A8F98,
}
RISK_COLOURS: dict[Level, int] = {"execute": 0xD92D20, "publish": 0x2563EB, "spend": 0x8E3FBF}


def draw(screen: Screen, files: Sequence[Attachment] = ()) -> DiscordMessage:
    """The message: a card in a coloured frame, anything else without one."""
    fitted = fit(screen.pieces, LIMITS)
    items = [item for together in _grouped(fitted) for item in together]
    for piece in fitted:
        if isinstance(piece, Controls):
            return compose(ui.Container(*items, accent_colour=_accent(piece.card)))
    if not files and any(isinstance(piece, Text) and piece.left and piece.role in PARAGRAPHS for piece in fitted):
        whole = "\n\n".join(_plain(piece) for piece in screen.pieces if isinstance(piece, Text))
        files = (Attachment("message.txt", whole.encode()),)
        items.append(ui.File("attachment://message.txt"))
    return compose(*items, files=tuple(files))


def mention_text(mentioned: str) -> str:
    """The mention of a person or, by an id that begins with &, of a role; "" for what is no id of Discord."""
    return f"<@{mentioned}>" if re.fullmatch(r"&?\d{1,20}", mentioned) else ""


def _grouped(pieces: Sequence[Piece]) -> Iterator[Iterable[Item]]:
    """The components of the pieces; lines of small print that follow one another are one text."""
    for is_small, together in groupby(pieces, _is_small_print):
        if is_small:
            yield [ui.TextDisplay("\n".join(_text(piece) for piece in together if isinstance(piece, Text)))]
        else:
            yield from map(_drawn, together)


def _is_small_print(piece: Piece) -> bool:
    return isinstance(piece, Text) and piece.style == "small" and piece.button is None


@singledispatch
def _drawn(piece: Piece) -> Iterator[Item]:
    """The components of a piece that was fitted."""
    raise TypeError(f"Discord draws no {type(piece).__name__}")


@_drawn.register
def _(text: Text) -> Iterator[Item]:
    said = _text(text)
    yield ui.Section(said, accessory=_button(text.button)) if text.button else ui.TextDisplay(said)


@_drawn.register
def _(heading: Heading) -> Iterator[Item]:
    yield ui.TextDisplay(f"**{escaped(heading.text) or NOTHING}**\n{heading.sign} {_words(heading.state)}")


@_drawn.register
def _(about: About) -> Iterator[Item]:
    lines = [f"**{escaped(about.name) or NOTHING}**", *([escaped(about.role)] if about.role else [])]
    lines += [f"{number}. {escaped(goal)}" for number, goal in enumerate(about.goals, 1)]
    yield ui.TextDisplay("\n".join(lines))


@_drawn.register
def _(shown: Help) -> Iterator[Item]:
    lines = [f"`{command}` – {escaped(meaning)}" for command, meaning in shown.help.commands]
    yield ui.TextDisplay("\n".join([f"**{shown.help.title}**", *lines, escaped(shown.help.closing)]))


@_drawn.register
def _(facts: Facts) -> Iterator[Item]:
    texts = [_fact(fact) for fact in facts.facts]
    texts += [f"-# … {facts.beyond:,} more arguments: Show all"] if facts.beyond else []
    yield ui.TextDisplay("\n".join(texts))


@_drawn.register
def _(output: Output) -> Iterator[Item]:
    shown = _box(output.text.strip("\n"))
    yield ui.TextDisplay(f"{shown}\n-# … Show all has the rest." if output.is_cut else shown)


@_drawn.register
def _(turns: TurnList) -> Iterator[Item]:
    texts = [f"… {counted(turns.left, 'earlier command')}"] if turns.left else []
    texts += [escaped(line.signed_text) for line in turns.lines]
    title = [_words(turns.title)] if turns.title else []
    yield ui.TextDisplay("\n".join([*title, *(f"-# {text}" for text in texts)]))


@_drawn.register
def _(listed: Rows) -> Iterator[Item]:
    """Rows with buttons as sections, as far as a message has room for sections; the others as lines of one text."""
    pressed = [row for row in listed.rows if row.button and not isinstance(row.button, Opens)][:MAX_SECTIONS]
    yield from (item for row in pressed for item in _drawn(row))
    lines = [_linked(row) for row in listed.rows if row not in pressed]
    lines += [f"-# and {listed.left:,} more {listed.what}"] if listed.left else []
    if lines:
        yield ui.TextDisplay("\n".join(lines))


@_drawn.register
def _(controls: Controls) -> Iterator[Item]:
    yield from turn_choosers(controls.earlier)
    yield from card_controls(controls)


@_drawn.register
def _(chooser: Chooser) -> Iterator[Item]:
    return turn_choosers(chooser.lines)


@_drawn.register
def _(row: Actions) -> Iterator[Item]:
    return rows([_button(each) for each in row.buttons])


def _text(text: Text) -> str:
    said = _words(text.words)
    if text.style in ("said", "quote"):
        said = quoted("".join(word for word in text.words if isinstance(word, str)))
    elif text.style == "small":
        said = f"-# {said}"
    more = f"\n-# … {text.left:,} more characters." if text.left and text.role in PARAGRAPHS else ""
    return f"{said or NOTHING}{more}"


def _words(words: Iterable[object]) -> str:
    return "".join(map(_word, words))


def _word(word: object) -> str:
    match word:
        case Strong(text):
            return f"**{escaped(text)}**"
        case Mono(text):
            return f"`{text}`"
        case Mentioned(id, name):
            return mention_text(id) or escaped(name)
        case Since(at):
            return timestamp(at, "R")
        case datetime():
            return timestamp(word)
        case _:
            return escaped(str(word))


def _plain(text: Text) -> str:
    told = (getattr(word, "text", "") or getattr(word, "name", "") or word for word in text.words)
    return "".join(visible(word) for word in told if isinstance(word, str))


def _fact(fact: Fact) -> str:
    text = fact.text.replace("\r\n", "\n")
    title, inner = f"**{escaped(fact.label)}**", text.strip("\n")
    if fact.left:
        lines = [title, *([_box(inner, fact.language)] if inner else []), f"-# {more_text(fact.left)}"]
        return "\n".join(lines)
    if not inner:
        return f"{title} *{_ends(len(text)) if text else fact.instead or 'empty'}*"
    around = _around(text, inner)
    if len(inner) <= MAX_INLINE_VALUE and inner.isprintable() and inner.strip() == inner and "`" not in inner:
        return f"{title} `{inner}`{around}"
    return f"{title}{around}\n{_box(inner, fact.language)}"


def _box(text: str, language: str = "") -> str:
    return boxed(text, language) if can_be_boxed(text) else quoted(text)


def _box_size(text: str) -> int:
    return quoted_size(text) if FENCE in text else units(text)


def _around(text: str, inner: str) -> str:
    """Say how many line ends `text` has before and after `inner`, because a code block hides them; "" if none."""
    before = len(text) - len(text.lstrip("\n"))
    after = len(text) - len(inner) - before
    said = [f"{_ends(count)} {where} it" for count, where in ((before, "before"), (after, "after")) if count]
    return f" · {', '.join(said)}" if said else ""


def _ends(count: int) -> str:
    return "1 line end" if count == 1 else f"{count:,} line ends"


def _linked(row: Text) -> str:
    """A row as a line, its name a link if it opens something."""
    match row.words:
        case (Strong(name), *others) if isinstance(row.button, Opens):
            return f"[{escaped(name)}]({row.button.url}){_words(others)}"
        case words:
            return _words(words)


def _button(button: Pressable | Opens) -> ui.Button[Any]:
    return link_button(button) if isinstance(button, Opens) else element(button)


def _accent(card: Card) -> int:
    """The colour at the card's edge. While a decision is open: that of execute, publish or spend.

    Otherwise, or if the command has none of these classes: that of the turn's state.
    """
    colours = [RISK_COLOURS[label.level] for label in card.risks if label.level in RISK_COLOURS]
    return colours[0] if colours and card.tone == "open" else COLOURS[card.tone]


def _size(piece: Piece) -> int:
    """How much of the message's limit the texts of a piece use."""
    if isinstance(piece, Text) and isinstance(piece.button, Opens):
        return units(_linked(piece))
    return 0 if isinstance(piece, Controls | Rows | Actions | Chooser) else sum(map(_item_size, _drawn(piece)))


def _item_size(item: Item) -> int:
    texts = item.children if isinstance(item, ui.Section) else [item]
    return sum(units(each.content) for each in texts if isinstance(each, ui.TextDisplay))


LIMITS = MessageLimits(
    message=MAX_MESSAGE_TEXT - 60,
    # Sizes include the backslashes that escape markdown.
    roomy={
        "headline": 200,
        "state": 300,
        "says": 1_000,
        "plan": 400,
        "detail": 250,
        "review": 600,
        "remark": 250,
        "footer": 300,
        "outcome": 900,
        "ended says": 300,
        "arguments": 150,
        "ended outcome": 1_900,
        "name": 200,
        "role": 600,
        "goals": 1_800,
        "text": 3_600,
        "quote": 3_200,
        "short": 300,
        "row": 500,
        "called": 900,
        "line": 78,
    },
    tight={"says": 300, "plan": 120, "detail": 90, "review": 200},
    size=escaped_size,
    quote_size=quoted_size,
    box_size=_box_size,
    weight=escaped_size,
    drawn_size=_size,
    fact=110,
    facts=32,
    most_label=160,
    least_label=12,
    rows=200,
    lines_above=5,
    lines=20,
)
