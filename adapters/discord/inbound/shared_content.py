"""What a Discord message carries beside its words: forwarded messages, and a long text that Discord made a file of."""

from dataclasses import replace

import discord

from adapters.chat.texts import forwarded_text, joined
from adapters.discord.inbound.downloads import fetch_file
from adapters.discord.inbound.message_markup import typed_text
from adapters.typed.typed_text import Mention, TypedText, handed_on
from agent_core.errors import InvalidInput
from agent_core.model.note import MAX_NOTE_CHARACTERS

LONG_TEXT = "message.txt"  # Discord's name for the file
MAX_MESSAGE = 2_000
MAX_LONG_TEXT_BYTES = 4 * MAX_NOTE_CHARACTERS


async def read_typed(message: discord.Message) -> tuple[TypedText, list[discord.Attachment]]:
    """The text of a message, the person whose message it replies to, and its files."""
    line, files = await _read_long(message)
    return replace(line, to=_replied_to(message)), files


async def _read_long(message: discord.Message) -> tuple[TypedText, list[discord.Attachment]]:
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


def _replied_to(message: discord.Message) -> Mention | None:
    """Whose message it replies to; None if that is the bot's, or if the text begins with the bot's mention."""
    me = message.guild.me.id if message.guild else 0
    if message.type is not discord.MessageType.reply or message.content.lstrip().startswith((f"<@{me}>", f"<@!{me}>")):
        return None
    replied = message.reference.resolved if message.reference else None
    if not isinstance(replied, discord.Message):  # it was deleted, and Discord does not tell who wrote it
        return Mention("somebody")
    return Mention(replied.author.display_name) if replied.author.id != me else None


def shared_text(message: discord.Message) -> str:
    """What the message forwards, quoted, or the names of its files; Discord does not tell who wrote it."""
    texts = (
        each.content or ", ".join(file.filename for file in each.attachments) for each in message.message_snapshots
    )
    return joined([forwarded_text("somebody", text) for text in texts if text])
