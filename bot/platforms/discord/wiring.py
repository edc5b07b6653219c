"""Builds Discord's surface and listeners from the settings. Imported only by processes that serve Discord."""

from dataclasses import dataclass
from typing import Self

from adapters.chat.joined_cards import JoinedCards
from adapters.chat.standing import StandingLines
from adapters.discord.api.base_urls import BaseUrls
from adapters.discord.api.client import DiscordApi
from adapters.discord.connection import DiscordConnection, SignoffClient
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.form_store import FormStore
from adapters.discord.outbound.posted import DiscordSender
from adapters.discord.outbound.surface import DiscordSurface
from adapters.typed.actions import ActionDispatcher
from agent_core.assembly import Core
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.thread_turns import ThreadTurns
from bot.platforms.platform import PlatformParts
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredDiscord:
    """The surface of Discord; `connect` adds the listeners."""

    parts: PlatformParts
    addresses: BaseUrls
    client: SignoffClient
    surface: DiscordSurface

    @classmethod
    def of(cls, settings: Settings, parts: PlatformParts) -> Self:
        """Build the surface with the bot's token, for every server that the bot is in."""
        addresses = BaseUrls(settings.discord_api_url, settings.discord_gateway_url)
        client = SignoffClient(addresses)
        token = settings.discord_token.get_secret_value()
        calls = DiscordApi(client=client, token=token, telemetry=parts.telemetry)
        surface = DiscordSurface(
            sending=DiscordSender(calls=calls),
            clock=parts.clock,
            model=parts.model,
            cards=JoinedCards(turns=ThreadTurns(parts.database), folds=settings.fold_finished_turns),
            standing=StandingLines(parts.workspaces),
            continuous_limit=settings.continuous_limit,
        )
        return cls(parts=parts, addresses=addresses, client=client, surface=surface)

    def connect(self, actions: ActionDispatcher, core: Core) -> DiscordConnection:
        database, clock = self.parts.database, self.parts.clock
        context = DiscordContext(
            actions=actions,
            service=core.service,
            views=core.views,
            drafting=core.drafting,
            uploads=core.uploads,
            tour=core.tour,
            templates=self.parts.templates,
            inbound_log=InboundLog(database, clock),
            soon=self.surface.soon,
            surface=self.surface,
            forms=FormStore(database, clock),
            clock=clock,
        )
        return DiscordConnection(
            client=self.client,
            calls=self.surface.sending.calls,
            context=context,
            database=database,
            addresses=self.addresses,
        )

    async def close(self) -> None:
        await self.surface.close()
        await self.client.close()
