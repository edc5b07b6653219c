"""What a Discord message carries beside its words: forwarded messages, and a long text that Discord made a file of."""

import discord

from adapters.chat.shared_text import forwarded_text, joined
from adapters.discord.inbound.downloads import fetch_file
from adapters.discord.inbound.message_markup import typed_text
from adapters.typed_text import TypedText, handed_on
from agent_core.errors import InvalidInput
from agent_core.service.agents import MAX_NOTE_CHARACTERS

LONG_TEXT = "message.txt"  # Discord's name for the file
MAX_MESSAGE = 2_000
MAX_LONG_TEXT_BYTES = 4 * MAX_NOTE_CHARACTERS


async def read_typed(message: discord.Message) -> tuple[TypedText, list[discord.Attachment]]:
    """The text of a message and its files; Discord turns a text that is too long for a message into a file."""
    line, files = typed_text(message), message.attachments
    if line.parts or [file.filename for file in files] != [LONG_TEXT] or files[0].size > MAX_LONG_TEXT_BYTES:
        return line, files
    try:
        _, data = await fetch_file(files[0])
    except InvalidInput:  # it is told where the file is taken
        return line, files
    long_text = data.decode(errors="replace").strip()
    return (handed_on(long_text), []) if MAX_MESSAGE < len(long_text) <= MAX_NOTE_CHARACTERS else (line, files)


def shared_text(message: discord.Message) -> str:
    """What the message forwards, quoted, or the names of its files; Discord does not tell who wrote it."""
    texts = (
        each.content or ", ".join(file.filename for file in each.attachments) for each in message.message_snapshots
    )
    return joined([forwarded_text("somebody", text) for text in texts if text])
