"""The settings of Discord: fields and their descriptions."""

from functools import partial

from pydantic import BaseModel

from bot.value_types import NO_SECRET, GatewayAddress, Secret, WebAddress
from bot.variable_doc import KEY, WEB_ADDRESS, Variable

discord = partial(Variable, section="Discord")


class DiscordSettings(BaseModel):
    """The bot token and the addresses of Discord's API."""

    discord_token: Secret = NO_SECRET
    discord_api_url: WebAddress = ""
    discord_gateway_url: GatewayAddress = ""


DISCORD_VARIABLES = (
    discord(
        name="DISCORD_TOKEN",
        meaning="The token of the Discord app's bot.",
        rule=KEY,
        default="Discord is off",
        example="your-bot-token",
    ),
    discord(
        name="DISCORD_API_URL",
        meaning="Another address of Discord's API, such as a proxy.",
        rule=WEB_ADDRESS,
        default="https://discord.com/api/v10",
        example="https://discord.proxy.example.com/api/v10",
    ),
    discord(
        name="DISCORD_GATEWAY_URL",
        meaning="Another address of Discord's gateway.",
        rule="a ws or wss address without a user, a query or a fragment",
        default="the address that Discord gives",
        example="wss://gateway.proxy.example.com",
    ),
)
