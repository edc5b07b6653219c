"""Discord's entry in `PLATFORMS`: whether it is on, a test of its token, its wiring; imported without discord.py."""

from dataclasses import dataclass

from agent_core.model.origin import SurfaceName
from bot.platforms.platform import ChatPlatform, PlatformParts, PlatformStatus, WiredPlatform
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordPlatform(ChatPlatform):
    """One bot for every server that it is invited to."""

    name: SurfaceName = "discord"
    title: str = "Discord"
    switch: str = "DISCORD_TOKEN"

    def is_on(self, settings: Settings) -> bool:
        return bool(settings.discord_token)

    def status(self, _settings: Settings) -> PlatformStatus:
        """How Discord is reached, for reports. DISCORD_TOKEN alone enables it, for every server."""
        reached = "every server that the bot is invited to"
        return PlatformStatus(reached=reached, variables="DISCORD_TOKEN", tested="DISCORD_TOKEN")

    async def fault(self, settings: Settings) -> str | None:
        """Test the token by asking Discord for the bot's account."""
        from adapters.discord.api.client import fault_of_token  # imports discord.py

        return await fault_of_token(settings.discord_token.get_secret_value(), settings.discord_api_url)

    def wire(self, settings: Settings, parts: PlatformParts) -> WiredPlatform:
        from bot.platforms.discord.wiring import WiredDiscord  # imports discord.py

        return WiredDiscord.of(settings, parts)
