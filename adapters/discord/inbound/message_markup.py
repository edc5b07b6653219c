"""Converts Discord's message markup to the text that people saw."""

import re

import discord

MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")


def plain_text(message: discord.Message) -> str:
    """The text with mentions as displayed, without the bot's own mention."""
    me = message.guild.me if message.guild else None
    names = {user.id: f"@{user.display_name}" for user in message.mentions}
    names |= {role.id: f"@{role.name}" for role in message.role_mentions}
    names |= {channel.id: f"#{channel.name}" for channel in message.channel_mentions}
    names |= {me.id: ""} if me else {}
    return MENTION.sub(lambda found: names.get(int(found[2]), found[0]), message.content).strip()
