"""The list of chat platforms, those that the operator enabled, and their wiring for a process."""

from contextlib import AsyncExitStack

from bot.platforms.discord.platform import DiscordPlatform
from bot.platforms.platform import ChatPlatform, PlatformParts, WiredPlatform
from bot.platforms.slack.platform import SlackPlatform
from bot.settings import Settings

PLATFORMS: tuple[ChatPlatform, ...] = (SlackPlatform(), DiscordPlatform())


def platforms_on(settings: Settings) -> tuple[ChatPlatform, ...]:
    """The platforms that the operator enabled."""
    return tuple(platform for platform in PLATFORMS if platform.is_on(settings))


def guide(platform: ChatPlatform) -> str:
    """The address of the documentation page on enabling the platform."""
    return f"docs/how-to/connect-{platform.name}.md"


def wire_platforms(settings: Settings, parts: PlatformParts, stack: AsyncExitStack) -> list[WiredPlatform]:
    """The enabled platforms, which `stack` closes."""
    platforms: list[WiredPlatform] = []
    for platform in platforms_on(settings):
        platforms.append(platform.wire(settings, parts))
        stack.push_async_callback(platforms[-1].close)
    return platforms
