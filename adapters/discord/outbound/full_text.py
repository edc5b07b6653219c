"""What Discord gets as a file or in full: the content of a turn without cuts, and rows of the decision log."""

import re
from collections.abc import Sequence

from discord import ui

from adapters.chat.card_sections import command_sections, headline_sections
from adapters.discord.outbound.card import MAX_MESSAGE_TEXT
from adapters.discord.outbound.controls import Item
from adapters.discord.outbound.message import (
    DiscordMessage,
    card_link,
    compose,
    cut_by_size,
    escaped,
    listed,
    timestamp,
)
from adapters.screens.cards import Card, Labelled
from adapters.screens.decision_log import row_text, time_text
from adapters.screens.visible_text import one_line, visible
from adapters.typed.answers import Attachment
from agent_core.service.reading.decision_log import LogRow

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


MAX_LOG_TEXT, MAX_ROW_TEXT = MAX_MESSAGE_TEXT - 300, 220
MAX_FILE_BYTES = 9_500_000  # Discord's limit for the files of a message is 10 MiB
FILES_TOO_LARGE = "-# The full log is too large for a file in Discord: download it from the local workspace."


def log_message(rows: Sequence[LogRow], head: str, files: Sequence[Attachment]) -> DiscordMessage:
    """Rows of the decision log, one per line, and the files if they are within Discord's limit."""
    has_room = sum(len(file.data) for file in files) <= MAX_FILE_BYTES
    kept = tuple(Attachment(file_name(file.name), file.data) for file in files) if has_room else ()
    text = listed([f"**{escaped(one_line(head))}**", *map(_row, rows)], "rows", MAX_LOG_TEXT)
    items: list[Item] = [ui.TextDisplay(text if has_room else f"{text}\n{FILES_TOO_LARGE}")]
    items += [ui.File(f"attachment://{file.name}") for file in kept]
    return compose(*items, files=kept)


def _row(row: LogRow) -> str:
    url = card_link(row.entry.channel, row.card)
    said = escaped(cut_by_size(row_text(row.entry).removeprefix(time_text(row.entry.at)), MAX_ROW_TEXT))
    return f"• {timestamp(row.entry.at)}{said}{f' · [card]({url})' if url else ''}"
