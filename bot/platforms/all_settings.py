"""The settings of all chat platforms: fields, the rules between them, and their descriptions.

This module and its imports do not import `bot.settings`, which is built on them.
"""

from collections.abc import Mapping

from bot.cross_setting_rules import Rule
from bot.platforms.discord.settings import DISCORD_VARIABLES, DiscordSettings
from bot.platforms.slack.settings import SLACK_RULES, SLACK_VARIABLES, SlackSettings
from bot.variable_doc import Variable


class AllPlatformSettings(DiscordSettings, SlackSettings):
    """The settings of all chat platforms in one class. A field has its variable's name in lower case."""


PLATFORM_RULES: Mapping[str, Rule] = {**SLACK_RULES}
PLATFORM_VARIABLES: tuple[Variable, ...] = (*SLACK_VARIABLES, *DISCORD_VARIABLES)
