"""Converts Discord's message markup to text and mentions."""

import re
from collections.abc import Iterator

import discord

from adapters.typed.typed_text import Mention, TypedText

MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")


def typed_text(message: discord.Message) -> TypedText:
    """The text with its mentions as tokens, without the bot's own mention."""
    return TypedText.of(_parts(message))


def _parts(message: discord.Message) -> Iterator[str | Mention]:
    names = _names(message)
    me, end, plain = message.guild.me.id if message.guild else 0, 0, ""
    for found in MENTION.finditer(message.content):
        plain += message.content[end : found.start()]
        end, named = found.end(), int(found[2])
        if named == me:
            continue
        yield from (plain, names.get(named) or _unknown(found))
        plain = ""
    yield plain + message.content[end:]


def _unknown(found: re.Match[str]) -> Mention:
    sign, number = found.groups()
    is_somebody = sign[0] == "@"
    return Mention(number, sign[0], is_somebody=is_somebody, id=f"{sign[1:].strip('!')}{number}" if is_somebody else "")


def _names(message: discord.Message) -> dict[int, Mention]:
    named = {user.id: Mention(user.display_name, id=str(user.id)) for user in message.mentions}
    named |= {role.id: Mention(role.name, id=f"&{role.id}") for role in message.role_mentions}
    return named | {channel.id: Mention(channel.name, "#", is_somebody=False) for channel in message.channel_mentions}
