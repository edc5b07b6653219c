"""Rows of the decision log in Discord, each with a link to its card, and the exported files."""

from collections.abc import Sequence

from discord import ui

from adapters.discord.outbound.card import MAX_MESSAGE_TEXT
from adapters.discord.outbound.controls import Item
from adapters.discord.outbound.full_text import file_name
from adapters.discord.outbound.message import DiscordMessage, card_link, compose
from adapters.discord.outbound.texts import cut_by_size, escaped, listed, timestamp
from adapters.screens.decision_log import row_text, time_text
from adapters.screens.visible_text import one_line
from adapters.typed.answers import Attachment
from agent_core.service.decision_log import LogRow

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
