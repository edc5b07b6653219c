"""Reads the person (member, guest, external) and the channel of a Discord event."""

from typing import TypeAlias

import discord

from agent_core.model.origin import Actor, ActorKind, ChannelScope, Origin, ThreadRef

Place: TypeAlias = "discord.interactions.InteractionChannel | discord.abc.MessageableChannel | None"


def scope_of(guild: int | None, place: Place) -> ChannelScope:
    """The channel of an event; for a thread its parent channel."""
    channel = place.parent_id if isinstance(place, discord.Thread) else place.id if place else 0
    return ChannelScope("discord", str(guild or ""), str(channel))


def thread_of(guild: int | None, place: Place) -> ThreadRef | None:
    return ThreadRef(scope_of(guild, place), str(place.id)) if isinstance(place, discord.Thread) else None


def origin_of(interaction: discord.Interaction) -> Origin:
    """The person, channel and Discord's id of an interaction (button, form or command)."""
    by = actor_of(interaction.user, interaction.permissions, in_thread=isinstance(interaction.channel, discord.Thread))
    channel = scope_of(interaction.guild_id, interaction.channel)
    return Origin(by=by, channel=channel, delivery=f"discord:{interaction.id}")


def written_by(message: discord.Message, author: discord.User | discord.Member) -> Origin:
    """The author, channel and id of a message. `author`: a Member if possible; a plain User counts as external."""
    place = message.channel
    may = discord.Permissions.none()
    if isinstance(author, discord.Member) and isinstance(place, discord.abc.GuildChannel | discord.Thread):
        may = _permissions(place, author)
    by = actor_of(author, may, in_thread=isinstance(place, discord.Thread))
    channel = scope_of(message.guild.id if message.guild else None, place)
    return Origin(by=by, channel=channel, delivery=f"discord:message:{message.id}")


def actor_of(user: discord.User | discord.Member, may: discord.Permissions, *, in_thread: bool) -> Actor:
    """The person as an Actor: member or guest by the permissions `may`, external if not of the server, or bot."""
    guild, roles = (str(user.guild.id), user.roles) if isinstance(user, discord.Member) else ("", [])
    return Actor(
        id=str(user.id),
        display=user.display_name,
        kind=_kind(user, may, in_thread=in_thread),
        workspace=guild,
        groups=tuple(f"&{role.id}" for role in roles),
    )


def member_in(place: "discord.abc.GuildChannel", member: discord.Member) -> Actor:
    """A member of the server as an Actor: member or guest, by their current permissions in the channel's threads."""
    return actor_of(member, _permissions(place, member), in_thread=True)


def _kind(user: discord.User | discord.Member, may: discord.Permissions, *, in_thread: bool) -> ActorKind:
    if user.bot:
        return "bot"
    if not isinstance(user, discord.Member):
        return "external"
    writes = may.send_messages_in_threads if in_thread else may.send_messages
    return "member" if not user.pending and may.view_channel and writes else "guest"


def _permissions(place: discord.abc.GuildChannel | discord.Thread, member: discord.Member) -> discord.Permissions:
    try:
        return place.permissions_for(member)
    except discord.ClientException:  # a thread whose parent channel is not cached
        return discord.Permissions.none()
