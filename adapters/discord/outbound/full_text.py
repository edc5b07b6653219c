"""The full content of a turn as a text file, without cuts."""

import re

from adapters.chat.card_sections import command_sections, headline_sections
from adapters.screens.cards import Card, Labelled
from adapters.screens.visible_text import visible
from adapters.typed.answers import Attachment

UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
MAX_FILE_NAME = 80


def file_name(name: str) -> str:
    """A file name that Discord does not change, so that a message can refer to its file."""
    return UNSAFE_CHARACTERS.sub("_", name).strip("._")[-MAX_FILE_NAME:] or "file"


def all_of(card: Card) -> tuple[Labelled, ...]:
    return (*headline_sections(card, card.standing), *command_sections(card, "Argument {}"))


def text_file(name: str, parts: tuple[Labelled, ...]) -> Attachment:
    """A file with each text below its label; only invisible characters are changed, to visible marks."""
    texts = [f"== {visible(part.label)} ==\n{visible(part.text)}\n" for part in parts]
    return Attachment(file_name(name), "\n".join(texts).encode())
