"""The settings of Discord: fields and their descriptions."""

from pydantic import BaseModel

from bot.value_types import NO_SECRET, GatewayAddress, Secret, WebAddress
from bot.variable import KEY, WEB_ADDRESS, Variable

SECTION = "Discord"


class DiscordSettings(BaseModel):
    """The bot token and the addresses of Discord's API."""

    discord_token: Secret = NO_SECRET
    discord_api_url: WebAddress = ""
    discord_gateway_url: GatewayAddress = ""


DISCORD_VARIABLES = (
    Variable(
        name="DISCORD_TOKEN",
        section=SECTION,
        meaning="The token of the Discord app's bot.",
        rule=KEY,
        default="Discord is off",
        example="your-bot-token",
    ),
    Variable(
        name="DISCORD_API_URL",
        section=SECTION,
        meaning="Another address of Discord's API, such as that of a proxy.",
        rule=WEB_ADDRESS,
        default="https://discord.com/api/v10",
        example="https://discord.proxy.example.com/api/v10",
    ),
    Variable(
        name="DISCORD_GATEWAY_URL",
        section=SECTION,
        meaning="Another address of Discord's gateway.",
        rule="a ws or wss address without a user, a query or a fragment",
        default="the one that Discord names",
        example="wss://gateway.proxy.example.com",
    ),
)
