"""The settings of Slack: fields, the rules between them, and their descriptions."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from bot.cross_setting_rules import Given, Rule
from bot.value_types import NO_SECRET, AllowedWorkspaces, Secret, WebAddress
from bot.variable_doc import WEB_ADDRESS, Variable

slack = partial(Variable, section="Slack")
ONE_OR_MANY = "is for one workspace and SLACK_CLIENT_ID for many: set one of the two."
NO_WORKSPACES = "must be set beside SLACK_CLIENT_ID: without it, no workspace may install the app."
NO_WAY_IN = "needs SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) beside it."


class SlackSettings(BaseModel):
    """The addresses of Slack's API, and the tokens and secrets of the app."""

    slack_api_url: WebAddress = ""
    slack_app_token: Secret = NO_SECRET
    slack_signing_secret: Secret = NO_SECRET
    slack_client_id: str = Field(default="", pattern=r"^([0-9]+\.[0-9]+)?$")
    slack_client_secret: Secret = NO_SECRET
    slack_allowed_workspaces: AllowedWorkspaces = Field(default_factory=dict)
    slack_bot_token: Secret = NO_SECRET


def _slack_app_token(value: Any, _given: Given) -> str | None:
    return _slack_kind(value, "xapp-")


def _slack_client_id(value: Any, given: Given) -> str | None:
    is_sent_back = value and not given.get("public_url")
    return "needs PUBLIC_URL beside it, to which Slack sends people back." if is_sent_back else None


def _slack_client_secret(value: Any, given: Given) -> str | None:
    return "must be set beside SLACK_CLIENT_ID." if given.get("slack_client_id") and not value else None


def _slack_allowed_workspaces(value: Any, given: Given) -> str | None:
    return NO_WORKSPACES if given.get("slack_client_id") and not value else None


def _slack_bot_token(value: Any, given: Given) -> str | None:
    if wrong := _slack_kind(value, "xoxb-"):
        return wrong
    has_many = bool(given.get("slack_client_id"))
    has_way_in = bool(given.get("slack_app_token") or given.get("slack_signing_secret"))
    if value and has_many:
        return ONE_OR_MANY
    if has_way_in and not (value or has_many):
        return "is missing beside the other settings of Slack."
    return NO_WAY_IN if (value or has_many) and not has_way_in else None


def _slack_kind(token: Any, prefix: str) -> str | None:
    is_other = token and not token.get_secret_value().startswith(prefix)
    return f"must begin with {prefix}: Slack has several kinds of tokens." if is_other else None


SLACK_RULES: Mapping[str, Rule] = {
    "slack_app_token": _slack_app_token,
    "slack_client_id": _slack_client_id,
    "slack_client_secret": _slack_client_secret,
    "slack_allowed_workspaces": _slack_allowed_workspaces,
    "slack_bot_token": _slack_bot_token,
}

SLACK_VARIABLES = (
    slack(
        name="SLACK_BOT_TOKEN",
        meaning="The bot token of the Slack app, for one workspace.",
        rule="a token that begins with xoxb-",
        default="Slack is off, unless SLACK_CLIENT_ID is set",
        example="xoxb-your-bot-token",
    ),
    slack(
        name="SLACK_APP_TOKEN",
        meaning="The app-level token for Socket Mode, which needs no public address.",
        rule="a token that begins with xapp-",
        default="events come over HTTP, signed with SLACK_SIGNING_SECRET",
        example="xapp-your-app-token",
    ),
    slack(
        name="SLACK_SIGNING_SECRET",
        meaning="Slack signs its requests to /slack/events with this secret. Needed for HTTP only.",
        rule="the signing secret of the app",
        default="events come by Socket Mode",
        example="0123456789abcdef0123456789abcdef",
    ),
    slack(
        name="SLACK_CLIENT_ID",
        meaning="The app's client id. With it, people install the app in any number of workspaces at /slack/install.",
        rule="two numbers with a point between them",
        default="one workspace, by SLACK_BOT_TOKEN",
        example="1234567890.1234567890",
    ),
    slack(
        name="SLACK_CLIENT_SECRET",
        meaning="The app's client secret. It also encrypts the tokens of installations in the database.",
        rule="the client secret of the app",
        default="one workspace, by SLACK_BOT_TOKEN",
        example="0123456789abcdef0123456789abcdef",
    ),
    slack(
        name="SLACK_ALLOWED_WORKSPACES",
        meaning="The ids of the workspaces and organisations that may install and use the app. `any` allows all, on "
        "your keys and budget. Tools of plugins and servers are off in a workspace without `+tools`.",
        rule="ids that begin with T or E, each optionally with +tools, or any, separated by commas",
        default="none; required beside SLACK_CLIENT_ID",
        example="T0123ABCD+tools,T0456EFGH",
    ),
    slack(
        name="SLACK_API_URL",
        meaning="Another address of Slack's API, such as a proxy or Slack for government.",
        rule=WEB_ADDRESS,
        default="https://slack.com/api",
        example="https://slack-gov.com/api",
    ),
)
