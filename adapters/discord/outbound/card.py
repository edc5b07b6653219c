"""Lays out a turn's card to fit one Discord message. A cut text ends with a mark; a button shows the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from discord import ui

from adapters.discord.outbound.command_section import CommandTexts, command_part, whole_size
from adapters.discord.outbound.controls import Item, element
from adapters.discord.outbound.message import (
    boxed,
    can_be_boxed,
    clean,
    cut_by_size,
    escaped,
    quoted,
    quoted_size,
    timestamp,
)
from adapters.screens.buttons import ViewButton
from adapters.screens.cards import Card, Labelled, brief_arguments
from adapters.screens.text_fit import units
from adapters.screens.turn_state import STATE_SIGNS, cut_parts
from adapters.screens.ui_text import CUT_TO_FIT, EXCERPT_CHARACTERS, head_and_tail
from adapters.screens.visible_text import one_line

# Limit of all texts in a message, https://discord.com/developers/docs/components/reference, with a margin.
MAX_MESSAGE_TEXT = 4000
CARD_TEXT_BUDGET = MAX_MESSAGE_TEXT - 60
# Limits of the parts that get their space first, including backslashes.
MAX_HEADLINE, MAX_STATE, MAX_REMARK, MAX_FOOTER, MAX_OUTCOME = 200, 300, 250, 300, 900
MAX_FOLDED, MAX_FOLDED_SAYS, MAX_FOLDED_OUTCOME = 150, 300, 1900
EXCERPT_MARGIN = 60  # for the line that counts what is left out
SHOW_ALL_HAS_THE_REST = "-# … Show all has the rest."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtLimits:
    """The maximum size of each thought, in UTF-16 code units, counted after escaping."""

    says: int
    plan: int
    detail: int
    review: int


ROOMY = ThoughtLimits(says=1000, plan=400, detail=250, review=600)
TIGHT = ThoughtLimits(says=300, plan=120, detail=90, review=200)


@dataclass(frozen=True, slots=True)
class CardParts:
    """A card without its buttons, and the buttons that open the texts that were cut."""

    items: tuple[Item, ...]
    openings: tuple[ViewButton, ...]

    @property
    def size(self) -> int:
        return sum(size_of(item) for item in self.items)


def card_items(card: Card, footer: Sequence[str], taken: int = 0) -> CardParts:
    """The card without its buttons: in full while it is open or running, afterwards in short.

    `taken`: how much of the message's limit other texts use, in UTF-16 code units.
    """
    return _open(card, footer, taken) if card.tone in ("open", "busy") else _folded(card, footer)


def size_of(item: Item) -> int:
    """How much of the message's limit the texts of a component use, in UTF-16 code units."""
    texts = item.children if isinstance(item, ui.Section) else [item]
    return sum(units(each.content) for each in texts if isinstance(each, ui.TextDisplay))


def small(text: str, most: int) -> CommandTexts:
    """A text on one line in small print (Discord's subtext), cut to `most` UTF-16 code units counted after escaping."""
    said = one_line(text)
    shown = cut_by_size(said, most)
    return CommandTexts((f"-# {escaped(shown)}",) if said else (), shown != said)


def _open(card: Card, footer: Sequence[str], taken: int) -> CardParts:
    head, bottom = _head(card), _bottom(card, footer)
    is_running = card.tone == "busy"
    outcome = _outcome(card, MAX_OUTCOME)
    left = CARD_TEXT_BUDGET - taken - sum(part.size for part in (head, *bottom, outcome)) - units(CUT_TO_FIT)
    wanted = whole_size(card)
    thoughts = _thoughts(card, ROOMY)
    if wanted + thoughts.size > left:
        thoughts = _thoughts(card, TIGHT)
    command = command_part(card, left - thoughts.size)
    texts = [*head.texts, *thoughts.texts, *command.texts]
    items: list[Item] = [ui.TextDisplay(text) for text in texts]
    show_all = ViewButton("show all", card.turn)
    if command.is_cut:
        items.append(ui.Section(CUT_TO_FIT, accessory=element(show_all)))
    items += [ui.TextDisplay(text) for part in (outcome, *bottom) for text in part.texts]
    is_more = thoughts.is_cut or card.model_reasoning or (card.is_brief and (card.plan or card.details))
    openings = [ViewButton("thoughts", card.turn)] if is_more else []
    is_cut = head.is_cut or (is_running and outcome.is_cut) or any(part.is_cut for part in bottom)
    has_more = is_cut or card.repeats_preview
    return CardParts((*items,), (*openings, *([show_all] if has_more and not command.is_cut else [])))


def _folded(card: Card, footer: Sequence[str]) -> CardParts:
    says, brief = small(card.says, MAX_FOLDED_SAYS), small(brief_arguments(card), MAX_FOLDED)
    edits = small(card.edits, MAX_REMARK)
    parts = [_head(card), says, brief, edits, _outcome(card, MAX_FOLDED_OUTCOME), small(" · ".join(footer), MAX_FOOTER)]
    is_same = all(one_line(part.text) == part.text for part in (Labelled("", card.says), *card.arguments))
    is_more = bool(card.preview or card.plan or card.details or card.review or card.remark or card.changes)
    is_cut = is_more or bool(card.model_reasoning) or not is_same or any(part.is_cut for part in parts)
    items = tuple(ui.TextDisplay[ui.LayoutView](text) for part in parts for text in part.texts)
    return CardParts(items, (ViewButton("show all", card.turn),) if is_cut else ())


def _head(card: Card) -> CommandTexts:
    headline = one_line(card.marked_headline)
    first = cut_by_size(headline, MAX_HEADLINE)
    parts, is_cut = cut_parts(card.standing_parts, MAX_STATE, cut_by_size)
    state = "".join(escaped(part) if isinstance(part, str) else timestamp(part) for part in parts)
    return CommandTexts((f"**{escaped(first)}**\n{STATE_SIGNS[card.tone]} {state}",), is_cut or first != headline)


def _thoughts(card: Card, measure: ThoughtLimits) -> CommandTexts:
    said = clean(card.says).strip()
    shown = cut_by_size(said, measure.says, quoted_size)
    parts = [CommandTexts((quoted(shown),) if said else (), shown != said)]
    if not card.is_brief:
        lines = [(card.plan_text, measure.plan)] if card.plan else []
        lines += [(f"{part.label}: {part.text}", measure.detail) for part in card.details]
        drawn = [small(text, most) for text, most in lines]
        parts.append(CommandTexts(_joined(drawn), any(part.is_cut for part in drawn)))
    if card.review.strip():
        parts.append(small(f"Self-review: {card.review}", measure.review))
    return CommandTexts(tuple(text for part in parts for text in part.texts), any(part.is_cut for part in parts))


def _joined(parts: Sequence[CommandTexts]) -> tuple[str, ...]:
    text = "\n".join(text for part in parts for text in part.texts)
    return (text,) if text else ()


def _bottom(card: Card, footer: Sequence[str]) -> list[CommandTexts]:
    remark = one_line(" ".join(filter(None, (card.remark, card.edits))))
    shown = cut_by_size(remark, MAX_REMARK)
    return [CommandTexts((escaped(shown),) if remark else (), shown != remark), small(" · ".join(footer), MAX_FOOTER)]


def _outcome(card: Card, most: int) -> CommandTexts:
    """The first and last lines of the outcome in a code block; as a quotation if they contain ``` themselves."""
    text = clean(card.outcome).strip("\n")
    if not text.strip():
        return CommandTexts(())
    lines, is_more = head_and_tail(text, min(most - EXCERPT_MARGIN, EXCERPT_CHARACTERS))
    can_be_in_box = can_be_boxed(lines.strip("\n"))
    shown = cut_by_size(lines, most, units if can_be_in_box else quoted_size).strip("\n")
    drawn = boxed(shown) if can_be_boxed(shown) else quoted(shown)
    is_cut = is_more or shown != lines
    return CommandTexts((f"{drawn}\n{SHOW_ALL_HAS_THE_REST}" if is_cut else drawn,), is_cut)
