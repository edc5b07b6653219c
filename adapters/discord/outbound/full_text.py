"""Everything of a turn in full, as a text file: nothing is cut here."""

import re

from adapters.answers import Attachment
from adapters.cards import Card, Labelled
from adapters.chat.full_text import command_parts, spoken_parts
from adapters.visible_text import visible

UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
MAX_FILE_NAME = 80


def file_name(name: str) -> str:
    """A name that Discord keeps as it is, so that a message can point at its file."""
    return UNSAFE_CHARACTERS.sub("_", name).strip("._")[-MAX_FILE_NAME:] or "file"


def all_of(card: Card) -> tuple[Labelled, ...]:
    """All there is of a turn."""
    return (*spoken_parts(card, card.standing), *command_parts(card, "Argument {}"))


def text_file(name: str, parts: tuple[Labelled, ...]) -> Attachment:
    """The texts under their labels; each is as it was, with what hides spelled out."""
    texts = [f"== {visible(part.label)} ==\n{visible(part.text)}\n" for part in parts]
    return Attachment(file_name(name), "\n".join(texts).encode())
