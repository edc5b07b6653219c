"""Everything of a turn in full, as a text file: nothing is cut here."""

import re

from adapters.answers import Attachment
from adapters.cards import Card, Labelled
from adapters.visible_text import visible

ODD = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME = 80


def file_name(name: str) -> str:
    """A name that Discord keeps as it is, so that a message can point at its file."""
    return ODD.sub("_", name).strip("._")[-LONGEST_NAME:] or "file"


def thoughts_of(card: Card) -> tuple[Labelled, ...]:
    """What the model says of its command, in the order of its weight."""
    spoken = (Labelled("Thoughts", card.says), Labelled("Plan", "\n".join(card.plan)), *card.details)
    return tuple(part for part in (*spoken, Labelled("Self-review", card.review)) if part.text)


def all_of(card: Card) -> tuple[Labelled, ...]:
    """All there is of a turn."""
    shown = [Labelled(card.headline, card.standing), *thoughts_of(card)]
    shown += [Labelled("Remark", card.remark)] if card.remark else []
    shown += [Labelled("Changes", card.edits)] if card.edits else []
    shown += card.changes
    shown += [Labelled(f"Argument {argument.label}", argument.text) for argument in card.arguments]
    shown += [Labelled(f"Preview: {card.preview.title}", card.preview.body)] if card.preview else []
    return (*shown, *([Labelled("Result", card.outcome)] if card.outcome else []))


def text_file(name: str, parts: tuple[Labelled, ...]) -> Attachment:
    """The texts under their labels; each is as it was, with what hides spelled out."""
    texts = [f"== {visible(part.label)} ==\n{visible(part.text)}\n" for part in parts]
    return Attachment(file_name(name), "\n".join(texts).encode())
