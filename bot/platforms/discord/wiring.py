"""Builds Discord from the settings. Imported only by processes that serve Discord."""

from dataclasses import dataclass
from typing import Self

from adapters.actions import ActionDispatcher
from adapters.discord.api.base_urls import BaseUrls
from adapters.discord.api.client import DiscordApi
from adapters.discord.connection import DiscordConnection, SignoffClient
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.expiring import ExpiringStore
from adapters.discord.outbound.posted import DiscordSender
from adapters.discord.outbound.surface import DiscordSurface
from agent_core.assembly import Core
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.service.inbound_log import InboundLog
from bot.platforms.platform import PlatformParts
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredDiscord:
    """The surface of Discord; `connect` adds the listeners."""

    database: Database
    clock: Clock
    addresses: BaseUrls
    client: SignoffClient
    calls: DiscordApi
    surface: DiscordSurface

    @classmethod
    def of(cls, settings: Settings, parts: PlatformParts) -> Self:
        """Build the surface with the bot's token, for every server that the bot is in."""
        addresses = BaseUrls(settings.discord_api_url, settings.discord_gateway_url)
        client = SignoffClient(addresses)
        calls = DiscordApi(client=client, token=settings.discord_token.get_secret_value())
        surface = DiscordSurface(
            sending=DiscordSender(calls=calls),
            clock=parts.clock,
            model=parts.model,
            continuous_limit=settings.continuous_limit,
        )
        return cls(
            database=parts.database,
            clock=parts.clock,
            addresses=addresses,
            client=client,
            calls=calls,
            surface=surface,
        )

    def connect(self, actions: ActionDispatcher, core: Core) -> DiscordConnection:
        context = DiscordContext(
            actions=actions,
            service=core.service,
            views=core.views,
            thread_commands=actions.thread_commands,
            drafting=core.drafting,
            uploads=core.uploads,
            inbound_log=InboundLog(self.database, self.clock),
            soon=self.surface.soon,
            surface=self.surface,
            drafts=ExpiringStore(self.clock),
            edits=ExpiringStore(self.clock),
            clock=self.clock,
        )
        return DiscordConnection(
            client=self.client, calls=self.calls, context=context, database=self.database, addresses=self.addresses
        )

    async def close(self) -> None:
        await self.surface.close()
        await self.client.close()
