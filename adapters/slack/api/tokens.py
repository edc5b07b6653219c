"""Slack clients by workspace. Checks the one token from the settings; `rotation` renews those of installations.

No token appears in a log, a `repr` or an error.
"""

from typing import Self

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.api.rotation import Rotation
from adapters.slack.api.web_api import SLACK_API, SlackClients, SlackRefused, require_success
from adapters.slack.install.installations import InstallationStore, WorkspaceInstall
from agent_core.errors import SettingsError, ThreadGone
from agent_core.ports.clock import Clock

NOT_INSTALLED = (
    "Signoff is not installed in this Slack workspace any more. Ask a workspace admin to install it again, "
    "then resume the agent."
)


class SlackTokens:
    """Web API clients, one for each workspace.

    A workspace is named by its team id, or by the organisation's id for an org-wide installation.
    """

    def __init__(self, api: SlackClients, source: "Rotation | OneToken") -> None:
        self._api = api
        self.source = source

    @classmethod
    def single(cls, *, bot_token: str, base_url: str = SLACK_API) -> Self:
        """Create the clients for the single workspace of a bot token."""
        api = SlackClients(base_url)
        return cls(api, OneToken(api, bot_token.strip()))

    @classmethod
    def many(
        cls,
        *,
        installed: InstallationStore,
        clock: Clock,
        client_id: str,
        client_secret: str,
        base_url: str = SLACK_API,
    ) -> Self:
        """Create the clients for all workspaces that installed the app by OAuth."""
        api = SlackClients(base_url)
        return cls(api, Rotation(installed, clock, api, client_id, client_secret))

    @property
    def base_url(self) -> str:
        """The base address of Slack's API, with a slash at the end."""
        return self._api.base_url

    async def client(self, workspace: str) -> AsyncWebClient:
        """A client; raise ThreadGone if Signoff is not installed, SurfaceBusy until an expired token is refreshed."""
        install = await self.source.valid(workspace)
        if install is None:
            raise ThreadGone(NOT_INSTALLED)
        return self._api.client(install.bot_token)

    def without_token(self) -> AsyncWebClient:
        """A client for calls that carry other credentials."""
        return self._api.client()

    async def close(self) -> None:
        """Wait for token refreshes, then close all connections."""
        await self.source.close()
        await self._api.close()


class OneToken:
    """The bot token of one workspace, from the settings. `prepare` reads the workspace's id from Slack."""

    def __init__(self, api: SlackClients, bot_token: str) -> None:
        self._api = api
        self._token = bot_token
        self._install: WorkspaceInstall | None = None

    async def prepare(self) -> None:
        """Read the workspace's id; raise SettingsError if Slack rejects the token, SurfaceBusy if it is unreachable."""
        if self._install:
            return
        try:
            told = await require_success(self._api.client(self._token).auth_test())
        except SlackRefused as refusal:
            raise _wrong(f"Slack refuses this token ({refusal.error}): copy the app's bot token again.") from None
        if not told.get("bot_id"):
            raise _wrong("this is a user token: copy the app's bot token.")
        self._install = _owner(self._token, told)

    async def install(self, workspace: str) -> WorkspaceInstall | None:
        """The installation if the token belongs to `workspace`, else None."""
        return self._install if self._install and self._install.workspace == workspace else None

    async def valid(self, workspace: str) -> WorkspaceInstall | None:
        """The installation that `install` returns.

        A bot token from the settings does not expire, so nothing is refreshed.
        """
        return await self.install(workspace)

    async def every(self) -> tuple[WorkspaceInstall, ...]:
        return (self._install,) if self._install else ()

    async def close(self) -> None:
        """Do nothing: there is no refresh to wait for."""


def _owner(token: str, told: AsyncSlackResponse) -> WorkspaceInstall:
    is_enterprise = bool(told.get("is_enterprise_install"))
    scopes = {name.lower(): value for name, value in told.headers.items()}.get("x-oauth-scopes", "")
    return WorkspaceInstall(
        workspace=str(told["enterprise_id"] if is_enterprise else told["team_id"]),
        team_name=str(told.get("team") or ""),
        bot_token=token,
        bot_user=str(told["user_id"]),
        enterprise=str(told.get("enterprise_id") or ""),
        is_enterprise=is_enterprise,
        scopes=tuple(scope.strip() for scope in scopes.split(",") if scope.strip()),
    )


def _wrong(fault: str) -> SettingsError:
    return SettingsError("SLACK_BOT_TOKEN", fault, "xoxb-…")
