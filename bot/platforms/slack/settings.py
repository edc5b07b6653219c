"""The settings of Slack (tokens, secrets, addresses of the API), and how they go together."""

from typing import ClassVar

from agent_core.capabilities.declaring import refuse_if, setting
from agent_core.capabilities.setting_types import AllowedWorkspaces, Secret, WebAddress
from bot.running_settings import RunningSettings

WRONG_KIND = "must begin with {}: Slack has several kinds of tokens."
ONE_OR_MANY = "is for one workspace and SLACK_CLIENT_ID for many: set one of the two."
NO_WORKSPACES = "must be set beside SLACK_CLIENT_ID: without it, no workspace may install the app."
NO_WAY_BACK = "needs PUBLIC_URL beside it, to which Slack sends people back."
NO_WAY_IN = "needs SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) beside it."


class SlackSettings(RunningSettings):
    """The addresses of Slack's API, and the tokens and secrets of the app."""

    title: ClassVar[str] = "Slack"

    slack_bot_token: Secret = setting(
        "",
        "The bot token of the Slack app, for one workspace.",
        rule="a token that begins with xoxb-",
        unset="Slack is off, unless SLACK_CLIENT_ID is set",
        example="xoxb-your-bot-token",
    )
    slack_app_token: Secret = setting(
        "",
        "The app-level token for Socket Mode, which needs no public address.",
        rule="a token that begins with xapp-",
        unset="events come over HTTP, signed with SLACK_SIGNING_SECRET",
        example="xapp-your-app-token",
    )
    slack_signing_secret: Secret = setting(
        "",
        "Slack signs its requests to /slack/events with this secret. Needed for HTTP only.",
        rule="the signing secret of the app",
        unset="events come by Socket Mode",
        example="0123456789abcdef0123456789abcdef",
    )
    slack_client_id: str = setting(
        "",
        "The app's client id. With it, people install the app in any number of workspaces at /slack/install.",
        rule="two numbers with a point between them",
        unset="one workspace, by SLACK_BOT_TOKEN",
        example="1234567890.1234567890",
        pattern=r"^([0-9]+\.[0-9]+)?$",
    )
    slack_client_secret: Secret = setting(
        "",
        "The app's client secret. It also encrypts the tokens of installations in the database.",
        rule="the client secret of the app",
        unset="one workspace, by SLACK_BOT_TOKEN",
        example="0123456789abcdef0123456789abcdef",
    )
    slack_allowed_workspaces: AllowedWorkspaces = setting(
        {},
        "The ids of the workspaces and organisations that may install and use the app. `any` allows all, on your "
        "keys and budget. Tools of plugins and servers are off in a workspace without `+tools`.",
        unset="none; required beside SLACK_CLIENT_ID",
        example="T0123ABCD+tools,T0456EFGH",
    )
    slack_api_url: WebAddress = setting(
        "",
        "Another address of Slack's API, such as a proxy or Slack for government.",
        unset="https://slack.com/api",
        example="https://slack-gov.com/api",
    )

    def check(self) -> None:
        for field, prefix in (("slack_app_token", "xapp-"), ("slack_bot_token", "xoxb-")):
            token = getattr(self, field).get_secret_value()
            refuse_if(token and not token.startswith(prefix), field, WRONG_KIND.format(prefix))
        has_many, has_one = bool(self.slack_client_id), bool(self.slack_bot_token)
        has_way_in = bool(self.slack_app_token or self.slack_signing_secret)
        refuse_if(has_many and not self.public_url, "slack_client_id", NO_WAY_BACK)
        no_secret = has_many and not self.slack_client_secret
        refuse_if(no_secret, "slack_client_secret", "must be set beside SLACK_CLIENT_ID.")
        refuse_if(has_many and not self.slack_allowed_workspaces, "slack_allowed_workspaces", NO_WORKSPACES)
        refuse_if(has_one and has_many, "slack_bot_token", ONE_OR_MANY)
        no_bot = has_way_in and not (has_one or has_many)
        refuse_if(no_bot, "slack_bot_token", "is missing beside the other settings of Slack.")
        refuse_if((has_one or has_many) and not has_way_in, "slack_bot_token", NO_WAY_IN)
