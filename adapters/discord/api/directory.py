"""Member directory: rereads members whose earlier grants still count."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

import discord

from adapters.discord.api.client import UNKNOWN_MEMBER, DiscordRefused
from adapters.discord.inbound.inbound_event import member_in
from adapters.discord.outbound.posted import DiscordSender
from agent_core.errors import NotFound
from agent_core.model.actors import Actor
from agent_core.model.channels import ChannelScope
from agent_core.ports.clock import Clock

Key: TypeAlias = tuple[str, str]
FRESH = timedelta(minutes=1)
MOST_KNOWN = 5_000


@dataclass(slots=True, kw_only=True)
class MemberDirectory:
    """Asks Discord about a person at most once a minute: the bot is not told when somebody loses a role."""

    sending: DiscordSender
    clock: Clock
    known: dict[Key, tuple[Actor, datetime]] = field(default_factory=dict)

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person as a member of that channel; raise NotFound for somebody who left the server."""
        key = (channel.key, person.id)
        found = self.known.get(key)
        if found and self.clock.now() - found[1] < FRESH:
            return found[0]
        actor = await self._fetch(channel, person)
        if len(self.known) >= MOST_KNOWN:
            self.known.clear()
        self.known[key] = (actor, self.clock.now())
        return actor

    async def _fetch(self, channel: ChannelScope, person: Actor) -> Actor:
        place = await self.sending.channel(int(channel.channel))
        if not isinstance(place, discord.abc.GuildChannel):
            raise NotFound("channel", channel.channel)
        try:
            member = await self.sending.calls.ask(lambda: place.guild.fetch_member(int(person.id)))
        except DiscordRefused as refused:
            if refused.code != UNKNOWN_MEMBER:
                raise
            raise NotFound("person", person.display) from refused
        return member_in(place, member)
