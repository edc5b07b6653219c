"""Lays out a card's preview and arguments: each in full, or cut, with the number of characters left out."""

from collections.abc import Callable
from dataclasses import dataclass

from adapters.discord.outbound.message import (
    FENCE,
    boxed,
    can_be_boxed,
    clean,
    cut_by_size,
    escaped,
    escaped_size,
    quoted,
    quoted_size,
)
from adapters.screens.cards import Card, Labelled
from adapters.screens.text_fit import beginning_by_size, shares, units
from adapters.screens.ui_text import more_text
from adapters.screens.visible_text import one_line

MAX_INLINE_VALUE, MAX_NAME, MIN_NAME = 100, 160, 12
ARGUMENT_OVERHEAD = 110  # bold marks, fences, the number of missing characters, and the line ends around the value
NO_ARGUMENTS = "-# No arguments."


@dataclass(frozen=True, slots=True)
class CommandTexts:
    """Texts of a card, and whether any was cut."""

    texts: tuple[str, ...]
    is_cut: bool = False

    @property
    def size(self) -> int:
        """How much of the message's limit the texts use."""
        return sum(map(units, self.texts))


@dataclass(frozen=True, slots=True)
class ShownValue:
    """An argument or a preview; `language` is for syntax highlighting in a code block.

    `instead`: a line to show instead of the text, or "".
    """

    name: str
    text: str
    language: str = ""
    instead: str = ""

    @property
    def size(self) -> Callable[[str], int]:
        """The function that measures the text as it is shown: in a code block, or as a quotation if it contains ```."""
        return quoted_size if FENCE in self.text else units


def whole_size(card: Card) -> int:
    """An upper bound of the size of the whole, uncut command, in UTF-16 code units."""
    return sum(escaped_size(each.name) + each.size(each.text) + ARGUMENT_OVERHEAD for each in _shown(card))


def command_part(card: Card, room: int) -> CommandTexts:
    """The preview and the arguments, cut to fit the room."""
    every = _shown(card)
    if not every:
        return CommandTexts((NO_ARGUMENTS,))
    shown = every[: max(1, room // (ARGUMENT_OVERHEAD + MIN_NAME))]
    beyond = len(every) - len(shown)
    most = max(MIN_NAME, min(MAX_NAME, room // (4 * len(shown))))
    names = [cut_by_size(each.name, most) for each in shown]
    room -= sum(map(escaped_size, names)) + ARGUMENT_OVERHEAD * len(shown) + (ARGUMENT_OVERHEAD if beyond else 0)
    given = shares([each.size(each.text) for each in shown], room)
    drawn = [_drawn(each, name, share) for each, name, share in zip(shown, names, given, strict=True)]
    texts = [text for part in drawn for text in part.texts]
    if beyond:
        texts.append(f"-# … {beyond:,} more arguments: Show all")
    is_cut = beyond > 0 or names != [each.name for each in shown] or any(part.is_cut for part in drawn)
    return CommandTexts(("\n".join(texts),), is_cut)


def _shown(card: Card) -> list[ShownValue]:
    preview = card.preview
    language = "diff" if preview and preview.kind == "diff" else ""
    above = [ShownValue(one_line(preview.title) or "Preview", clean(preview.body), language)] if preview else []
    return [*above, *map(_argument, card.arguments_shown)]


def _argument(argument: Labelled) -> ShownValue:
    text = "" if argument.instead else clean(argument.text)
    return ShownValue(one_line(argument.label) or "?", text, instead=argument.instead)


def _drawn(shown: ShownValue, name: str, most: int) -> CommandTexts:
    title, inner = f"**{escaped(name)}**", shown.text.strip("\n")
    if not inner:
        return CommandTexts((f"{title} *{_ends(len(shown.text)) if shown.text else shown.instead or 'empty'}*",))
    around = _around(shown.text, inner)
    if shown.size(shown.text) <= most:
        if _fits_in_line(inner):
            return CommandTexts((f"{title} `{inner}`{around}",))
        return CommandTexts((f"{title}{around}\n{_block(inner, shown.language)}",))
    part = beginning_by_size(inner, most, shown.size).strip("\n")
    missing = f"-# {more_text(len(shown.text) - len(part))}"
    lines = [f"{title}{around}", *([_block(part, shown.language)] if part else []), missing]
    return CommandTexts(("\n".join(lines),), is_cut=True)


def _block(text: str, language: str) -> str:
    return boxed(text, language) if can_be_boxed(text) else quoted(text)


def _fits_in_line(text: str) -> bool:
    return len(text) <= MAX_INLINE_VALUE and text.isprintable() and text.strip() == text and "`" not in text


def _around(text: str, inner: str) -> str:
    """Say how many line ends `text` has before and after `inner`, because a code block hides them; "" if none."""
    before = len(text) - len(text.lstrip("\n"))
    after = len(text) - len(inner) - before
    said = [f"{_ends(count)} {where} it" for count, where in ((before, "before"), (after, "after")) if count]
    return f" · {', '.join(said)}" if said else ""


def _ends(count: int) -> str:
    return "1 line end" if count == 1 else f"{count:,} line ends"
