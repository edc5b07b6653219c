"""The settings of Discord: the bot token and the addresses of its API."""

from typing import ClassVar

from agent_core.capabilities.declaring import SettingsGroup, setting
from agent_core.capabilities.setting_types import GatewayAddress, Secret, WebAddress


class DiscordSettings(SettingsGroup):
    """The bot token and the addresses of Discord's API."""

    title: ClassVar[str] = "Discord"

    discord_token: Secret = setting(
        "", "The token of the Discord app's bot.", unset="Discord is off", example="your-bot-token"
    )
    discord_api_url: WebAddress = setting(
        "",
        "Another address of Discord's API, such as a proxy.",
        unset="https://discord.com/api/v10",
        example="https://discord.proxy.example.com/api/v10",
    )
    discord_gateway_url: GatewayAddress = setting(
        "",
        "Another address of Discord's gateway.",
        unset="the address that Discord gives",
        example="wss://gateway.proxy.example.com",
    )
