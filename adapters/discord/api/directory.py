"""Member directory: fetches people's present permissions from Discord, and caches them for a minute."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

import discord
from cachetools import TTLCache

from adapters.discord.api.client import UNKNOWN_MEMBER, DiscordRefused
from adapters.discord.inbound.inbound_event import member_in
from adapters.discord.outbound.posted import DiscordSender
from agent_core.errors import NotAllowed, NotFound
from agent_core.model.origin import Actor, ChannelScope
from agent_core.ports.clock import Clock
from agent_core.text.lines import short_name

Key: TypeAlias = tuple[str, str]
CACHE_TTL = timedelta(minutes=1)
MAX_CACHED_MEMBERS = 5_000


@dataclass(slots=True, kw_only=True)
class MemberDirectory:
    """Fetches members and caches each for a minute: with Signoff's intents no event tells that a member lost a role."""

    sending: DiscordSender
    clock: Clock
    known: TTLCache[Key, Actor] = field(init=False)

    def __post_init__(self) -> None:
        self.known = TTLCache(MAX_CACHED_MEMBERS, CACHE_TTL.total_seconds(), lambda: self.clock.now().timestamp())

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person with their permissions in the channel; raise NotFound if they left the server."""
        actor: Actor | None = self.known.get((channel.key, person.id))
        return actor or await self.ask(channel, person)

    async def ask(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person with their permissions as Discord knows them now; raise NotFound if they left the server."""
        place = await self._place(channel)
        try:
            member = await self.sending.calls.ask(lambda: place.guild.fetch_member(int(person.id)))
        except DiscordRefused as refused:
            if refused.code != UNKNOWN_MEMBER:
                raise
            raise NotFound("person", person.display) from refused
        actor = self.known[channel.key, person.id] = member_in(place, member)
        return actor

    async def role_name(self, channel: ChannelScope, role: str) -> str:
        """The name of a role; raise NotAllowed if it is gone."""
        found = (await self._place(channel)).guild.get_role(int(role.removeprefix("&")))
        if found is None:
            raise NotAllowed("name this role: the server has none with this id.")
        return f"@{short_name(found.name)}"

    async def _place(self, channel: ChannelScope) -> "discord.abc.GuildChannel":
        place = await self.sending.channel(int(channel.channel))
        if not isinstance(place, discord.abc.GuildChannel):
            raise NotFound("channel", channel.channel)
        return place
