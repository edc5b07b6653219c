"""Everything of a turn in full, in as many parts as Slack's views need: nothing is cut here."""

import json
from collections.abc import Iterator, Sequence

from adapters.cards import Card, Labelled
from adapters.slack.outbound.blocks import TEXT, Block, line, preformatted, rich, run
from adapters.slack.outbound.card import one_line
from adapters.slack.outbound.texts import clean
from adapters.text_fit import pieces, units

MOST_BLOCKS, MOST_TEXT = 90, 100_000
# Slack refuses a view of more than 250,000 bytes; a character may take six of them in what the SDK sends.
MOST_BYTES = 200_000
LABEL = 2000


def thoughts_of(card: Card) -> list[Labelled]:
    """What the model says of its command, in the order of its weight."""
    spoken = [Labelled("Thoughts", card.says), Labelled("Plan", "\n".join(card.plan)), *card.details]
    spoken.append(Labelled("Self-review", card.review))
    return [part for part in spoken if part.text]


def parts_of(card: Card) -> list[list[Block]]:
    """All there is of a turn, in parts that a view can hold."""
    spoken = [Labelled(card.headline, card.state), *thoughts_of(card)]
    spoken += [Labelled("Remark", card.remark)] if card.remark else []
    spoken += [Labelled("Changes", card.edits)] if card.edits else []
    shown = [*card.changes, *card.arguments]
    shown += [Labelled(f"Preview: {card.preview.title}", card.preview.body)] if card.preview else []
    shown += [Labelled("Result", card.outcome)] if card.outcome else []
    return packed([*drawn(spoken), *drawn(shown, boxed=True)])


def drawn(texts: Sequence[Labelled], *, boxed: bool = False) -> Iterator[Block]:
    """Each text under its label, in pieces that fit a block; together they are the text."""
    for part in texts:
        label = one_line(part.label)[:LABEL]
        for piece in pieces(clean(part.text), TEXT):
            yield rich(*(_boxed(label, piece) if boxed else _said(label, piece)))
            label = ""


def packed(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks in parts, each within what a view holds."""
    parts: list[list[Block]] = [[]]
    text, size = 0, 0
    for block in blocks:
        sent = json.dumps(block)
        words = _words(block)
        if parts[-1] and (len(parts[-1]) >= MOST_BLOCKS or text + words > MOST_TEXT or size + len(sent) > MOST_BYTES):
            parts.append([])
            text, size = 0, 0
        parts[-1].append(block)
        text, size = text + words, size + len(sent)
    return parts


def _words(block: Block) -> int:
    return sum(units(part["text"]) for element in block["elements"] for part in element["elements"])


def _boxed(label: str, piece: str) -> list[Block]:
    top = [line(run(label, "bold"))] if label else []
    return [*top, preformatted(piece) if piece else line(run("empty", "italic"))]


def _said(label: str, piece: str) -> list[Block]:
    top = [run(label, "bold"), run("\n")] if label else []
    return [line(*top, run(piece))]
