"""Lays out a turn's card as blocks that fit one Slack message. Buttons show the rest of texts that were cut."""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.screens.buttons import ViewButton
from adapters.screens.cards import Card, Labelled, brief_arguments
from adapters.screens.text_fit import beginning_by_size, cut, fits, shares
from adapters.screens.turn_state import STATE_SIGNS, cut_parts
from adapters.screens.ui_text import CUT_TO_FIT, head_and_tail, more_text
from adapters.screens.visible_text import one_line, readable
from adapters.slack.outbound.blocks import (
    MAX_MESSAGE_TEXT,
    Block,
    actions,
    context,
    date_run,
    line,
    preformatted,
    rich,
    run,
    section,
    texts_in,
    weight,
)
from adapters.slack.outbound.controls import element

# Limits of the parts that get their space first, in UTF-16 units.
MAX_HEADLINE, MAX_STATE, MAX_REMARK, MAX_FOOTER = 200, 500, 500, 300
MAX_SAYS, MAX_PLAN, MAX_DETAIL, MAX_REVIEW = 1500, 700, 500, 1000
MAX_FOLDED, MAX_FOLDED_SAYS = 150, 300
# The limit is well below Slack's, because Slack counts more than the texts: see MAX_MESSAGE_TEXT.
CARD_TEXT_BUDGET, BLOCK_OVERHEAD = MAX_MESSAGE_TEXT - 2000, 10
MAX_INLINE_VALUE, MAX_NAME, MIN_NAME = 100, 200, 8
MAX_ARGUMENTS = 60
ARGUMENT_OVERHEAD = 60


@dataclass(frozen=True, slots=True)
class CardBlocks:
    """Blocks of a card, and whether any was cut."""

    blocks: list[Block]
    is_cut: bool = False


def card_blocks(
    card: Card, controls: Sequence[Block], footer: Sequence[str], above: Sequence[Block] = ()
) -> list[Block]:
    """All blocks of a card in its current state, from `above` and the headline to the buttons."""
    if card.tone in ("open", "busy"):
        return _open(card, controls, footer, above)
    parts = [_head(card), _folded(card), _outcome(card)]
    shown = [block for part in parts for block in part.blocks]
    is_cut = any(part.is_cut for part in parts) or bool(card.plan or card.details or card.review)
    pressable = [show_all_button(card)] if is_cut else []
    pressable += [each for row in controls for each in row["elements"]]
    ending = [context(" · ".join(footer), most=MAX_FOOTER), *([actions(*pressable)] if pressable else [])]
    return [*above, *shown, *ending]


def command_in(card: Card, room: int) -> CardBlocks:
    """Preview and arguments alone, cut to `room` units."""
    return _command(card, room)


def footer_text(card: Card) -> str:
    """The risk classes, the cost, and whether the agent has read untrusted content."""
    return " · ".join(filter(None, (card.risk, *card.footer)))


def show_all_button(card: Card) -> Block:
    return element(ViewButton("show all", card.turn))


def text_size(blocks: Sequence[Block]) -> int:
    """How much of the message's limit the blocks use, as `weight` measures, with a margin for their structure."""
    return sum(weight(text) + BLOCK_OVERHEAD for text in texts_in(list(blocks)))


def _open(card: Card, controls: Sequence[Block], footer: Sequence[str], above: Sequence[Block]) -> list[Block]:
    top = [*above, *_head(card).blocks, *_thoughts(card), *_review(card)]
    bottom = [section(text, most=MAX_REMARK) for text in (card.remark, card.edits) if text]
    bottom += [*_outcome(card).blocks, context(" · ".join(footer), most=MAX_FOOTER), *controls]
    command = _command(card, CARD_TEXT_BUDGET - text_size([*top, *bottom]) - weight(CUT_TO_FIT))
    more = [section(CUT_TO_FIT, show_all_button(card))] if command.is_cut else []
    return [*top, *command.blocks, *more, *bottom]


def _head(card: Card) -> CardBlocks:
    headline = one_line(card.marked_headline)
    state, is_cut = cut_parts(card.standing_parts, MAX_STATE, cut)
    runs = [run(cut(headline, MAX_HEADLINE), "bold")]
    if not any(button.verb == "approve" for button in card.buttons):
        parts = (f"\n{STATE_SIGNS[card.tone]} {state[0]}", *state[1:])
        runs += [run(part) if isinstance(part, str) else date_run(part) for part in parts]
    return CardBlocks([rich(line(*runs))], is_cut or not fits(headline, MAX_HEADLINE))


def _thoughts(card: Card) -> list[Block]:
    texts = [(card.plan_text, MAX_PLAN)] if card.plan else []
    texts += [(f"{part.label}: {part.text}", MAX_DETAIL) for part in card.details]
    is_cut = not all(fits(readable(text), most) for text, most in [(card.says, MAX_SAYS), *texts])
    is_more = is_cut or card.model_reasoning or (card.is_brief and texts)
    more = element(ViewButton("thoughts", card.turn)) if is_more else None
    small = [] if card.is_brief else [context(text, most=most) for text, most in texts]
    if not card.says.strip():
        return [*small, actions(more)] if more else small
    return [section(card.says, more, most=MAX_SAYS), *small]


def _review(card: Card) -> list[Block]:
    if not card.review.strip():
        return []
    text = f"Self-review: {card.review}"
    return [section(text, None if fits(readable(text), MAX_REVIEW) else show_all_button(card), most=MAX_REVIEW)]


def _command(card: Card, room: int) -> CardBlocks:
    arguments = card.arguments_shown[:MAX_ARGUMENTS]
    preview = [Labelled(card.preview.title, card.preview.body)] if card.preview else []
    shown, beyond = [*preview, *arguments], len(card.arguments_shown) - len(arguments)
    if not shown:
        return CardBlocks([context("No arguments.")])
    labels = [one_line(part.label) or "?" for part in shown]
    most = max(MIN_NAME, min(MAX_NAME, room // (4 * len(shown))))
    names = [cut(label, most) for label in labels]
    texts = ["" if part.instead else readable(part.text) for part in shown]
    room -= sum(map(weight, names)) + len(shown) * (ARGUMENT_OVERHEAD + 4 * BLOCK_OVERHEAD)
    given = shares([weight(text) for text in texts], room)
    fitted = [beginning_by_size(text, share, weight) for text, share in zip(texts, given, strict=True)]
    elements: list[Block] = []
    insteads = [part.instead for part in shown]
    for which, (name, text, part, instead) in enumerate(zip(names, texts, fitted, insteads, strict=True)):
        elements += _boxed(name, text, part) if which < len(preview) else _argument(name, text, part, instead)
    if beyond:
        elements.append(line(run(f"… {beyond:,} more arguments: Show all", "italic")))
    return CardBlocks([rich(*_joined(elements))], beyond > 0 or fitted != texts or names != labels)


def _argument(name: str, text: str, part: str, instead: str) -> list[Block]:
    if not text:
        return [line(run(name, "bold"), run(" "), run(instead or "empty", "italic"))]
    if part == text and "\n" not in text and fits(text, MAX_INLINE_VALUE):
        return [line(run(name, "bold"), run(" "), run(text, "code"))]
    return _boxed(name, text, part)


def _boxed(name: str, text: str, part: str) -> list[Block]:
    shown = [line(run(name, "bold")), *([preformatted(part)] if part else [])]
    return shown if part == text else [*shown, line(run(more_text(len(text) - len(part)), "italic"))]


def _joined(elements: Sequence[Block]) -> list[Block]:
    """Join neighbouring lines to one element with line breaks, which every client displays in the same way."""
    joined: list[Block] = []
    for each in elements:
        last = joined[-1] if joined else each
        if joined and each["type"] == last["type"] == "rich_text_section":
            joined[-1] = line(*last["elements"], run("\n"), *each["elements"])
        else:
            joined.append(each)
    return joined


def _folded(card: Card) -> CardBlocks:
    says, brief = one_line(card.says), one_line(brief_arguments(card))
    blocks = [context(says, most=MAX_FOLDED_SAYS)] if says else []
    blocks += [context(brief, most=MAX_FOLDED)] if brief else []
    blocks += [context(card.edits, most=MAX_REMARK)] if card.edits else []
    is_whole = fits(says, MAX_FOLDED_SAYS) and fits(brief, MAX_FOLDED) and not (card.preview or card.changes)
    is_same = all(one_line(part.text) == part.text for part in card.arguments)
    return CardBlocks(blocks, not (is_whole and is_same))


def _outcome(card: Card) -> CardBlocks:
    if not card.outcome.strip():
        return CardBlocks([])
    shown, is_more = head_and_tail(readable(card.outcome))
    mark = [line(run("… Show all has the rest.", "italic"))] if is_more else []
    return CardBlocks([rich(preformatted(shown), *mark)], is_more)
