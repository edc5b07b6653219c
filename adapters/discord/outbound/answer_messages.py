"""Messages that answer a person on Discord: a text, rows of the decision log, a turn in full, thoughts, a reply.

A long text becomes a file.
"""

import re
from collections.abc import Sequence

import discord
from discord import ui

from adapters.chat.card_sections import command_sections, headline_sections, thoughts_sections
from adapters.discord.outbound.controls import Item
from adapters.discord.outbound.draw import MAX_MESSAGE_TEXT, draw
from adapters.discord.outbound.message import (
    NOTHING,
    DiscordMessage,
    card_link,
    clean,
    compose,
    escaped,
    escaped_size,
    listed,
    quoted,
    quoted_size,
    timestamp,
)
from adapters.screens.cards import Card, Labelled, turn_card
from adapters.screens.decision_log import row_text, time_text
from adapters.screens.message.pieces import Screen, Text
from adapters.screens.text_fit import cut_by_size, units
from adapters.screens.ui_text import media_type
from adapters.screens.visible_text import one_line, visible
from adapters.typed.answers import Answer, Attachment
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.service.reading.decision_log import LogRow

UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
MAX_FILE_NAME = 80
MAX_TEXT = MAX_MESSAGE_TEXT - 200
WHOLE_IN_FILE = "Everything about turn {number} is in the file."
REPLY, REPLY_IN_FILE = "The model's reply", "The model's reply is in the file."
NO_THOUGHTS = "The model gave no thoughts for this command."


def text_message(text: str) -> DiscordMessage:
    """A text; a long one is attached as a file."""
    said = clean(text)
    if escaped_size(said) <= MAX_TEXT:
        return compose(ui.TextDisplay(escaped(said.strip()) or NOTHING))
    return file_message(said, Attachment("message.txt", said.encode()))


def file_message(said: str, file: Attachment) -> DiscordMessage:
    """A text, cut if it is long, with a file below it: an image is displayed, any other file offered for download."""
    kept = Attachment(file_name(file.name), file.data)
    place = f"attachment://{kept.name}"
    is_picture = media_type(kept.name).startswith("image/")
    shown: Item = ui.MediaGallery(discord.MediaGalleryItem(place)) if is_picture else ui.File(place)
    above = draw(Screen((Text(words=(said,)),), said), (kept,))
    return compose(*above.view.children, shown, files=(kept,))


def answer_message(answer: Answer) -> DiscordMessage:
    """The reply to a typed line or click: decision log rows with their files, or a text with at most one file."""
    if answer.log:
        return log_message(answer.log, answer.text.partition("\n")[0], answer.files)
    return file_message(answer.text, answer.files[0]) if answer.files else text_message(answer.text)


def reply_message(notice: Notice) -> DiscordMessage:
    """The reply to a click on the Show reply button: the model's whole reply, in a file if it is long."""
    said = clean(notice.reply)
    if quoted_size(said) > MAX_TEXT:
        return file_message(REPLY_IN_FILE, text_file("reply.txt", (Labelled(REPLY, notice.reply),)))
    return compose(ui.TextDisplay(f"**{REPLY}**\n{quoted(said)}"))


def whole_message(agent: Agent, turn: Turn) -> DiscordMessage:
    """The full content of a turn as a text file."""
    file = text_file(f"turn-{turn.number}.txt", all_of(turn_card(agent, turn)))
    return file_message(WHOLE_IN_FILE.format(number=turn.number), file)


def thoughts_message(agent: Agent, turn: Turn) -> DiscordMessage:
    """The reply to a click on the Thoughts button: all thoughts of the turn, in a file if they are long."""
    parts = thoughts_sections(turn_card(agent, turn))
    text = "\n".join(f"**{escaped(part.label)}**\n{quoted(clean(part.text))}" for part in parts)
    if units(text) > MAX_TEXT:
        file = text_file(f"thoughts-{turn.number}.txt", parts)
        return file_message(f"The thoughts of turn {turn.number} are in the file.", file)
    return compose(ui.TextDisplay(text or NO_THOUGHTS))


def file_name(name: str) -> str:
    """A file name that Discord does not change, so that a message can refer to its file."""
    return UNSAFE_CHARACTERS.sub("_", name).strip("._")[-MAX_FILE_NAME:] or "file"


def all_of(card: Card) -> tuple[Labelled, ...]:
    return (*headline_sections(card), *command_sections(card, "Argument {}"))


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
    said = escaped(cut_by_size(row_text(row.entry).removeprefix(time_text(row.entry.at)), MAX_ROW_TEXT, escaped_size))
    return f"• {timestamp(row.entry.at)}{said}{f' · [card]({url})' if url else ''}"
