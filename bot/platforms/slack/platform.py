"""Slack's entry in `PLATFORMS`: whether it is on, a test of its tokens, its wiring; imported without Slack's SDK."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError, SurfaceError
from agent_core.model.origin import SurfaceName
from bot.platforms.platform import ChatPlatform, PlatformParts, PlatformStatus, WiredPlatform
from bot.settings import Settings

if TYPE_CHECKING:
    from adapters.slack.install.installations import WorkspaceInstall

EVENTS = "/slack/events"
SHOWN = ("SLACK_BOT_TOKEN", "SLACK_CLIENT_ID", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPlatform(ChatPlatform):
    """One workspace by its bot token, or many by the app's client id."""

    name: SurfaceName = "slack"
    title: str = "Slack"
    switch: str = "SLACK_BOT_TOKEN with SLACK_APP_TOKEN"
    signed_paths: tuple[str, ...] = (EVENTS,)

    def is_on(self, settings: Settings) -> bool:
        return bool(settings.slack_bot_token or settings.slack_client_id)

    def status(self, settings: Settings) -> PlatformStatus:
        """How Slack is reached, for reports. The token of one workspace can be tested, the tokens of many cannot."""
        way = "by Socket Mode" if settings.slack_app_token else f"by HTTP at {settings.address}{EVENTS}"
        is_many = bool(settings.slack_client_id)
        many = f"many workspaces {way}, install at {settings.public_url}/slack/install"
        return PlatformStatus(
            reached=many if is_many else f"one workspace {way}",
            variables=", ".join(name for name in SHOWN if getattr(settings, name.lower())),
            tested="" if is_many else "SLACK_BOT_TOKEN",
        )

    async def fault(self, settings: Settings) -> str | None:
        """Test the token by asking Slack for its account and permissions."""
        from adapters.slack.api.tokens import SlackTokens  # imports Slack's SDK
        from adapters.slack.api.web_api import SLACK_API

        base_url = settings.slack_api_url or SLACK_API
        tokens = SlackTokens.single(bot_token=settings.slack_bot_token.get_secret_value(), base_url=base_url)
        try:
            await tokens.source.prepare()
            return _missing_permissions(await tokens.source.every())
        except SettingsError as error:
            return error.fault
        except SurfaceError as error:
            return str(error)
        finally:
            await tokens.close()

    def wire(self, settings: Settings, parts: PlatformParts) -> WiredPlatform:
        from bot.platforms.slack.wiring import WiredSlack  # imports Slack's SDK

        return WiredSlack.of(settings, parts)


def _missing_permissions(installs: "Sequence[WorkspaceInstall]") -> str | None:
    """Which permissions of `manifest.yml` the app was installed without, as a sentence; None if Slack tells none."""
    from adapters.slack.inbound.routing import SCOPES  # imports Slack's SDK

    given = {scope for install in installs for scope in install.scopes}
    missing = [scope for scope in SCOPES if scope not in given]
    if not given or not missing:
        return None
    return f"The Slack app lacks permissions: {', '.join(missing)}. Update it from manifest.yml and install it again."
