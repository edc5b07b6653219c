"""Slack's OAuth installation flow, built on Bolt, with Signoff's own installation store, OAuth states and pages."""

import logging
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode, urljoin

from aiohttp import web
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth import OAuthStateUtils
from slack_sdk.oauth.installation_store import Bot, Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.api.tokens import SlackTokens
from adapters.slack.api.web_api import SlackRefused, exchange, require_success
from adapters.slack.install import install_pages as pages
from adapters.slack.install.installations import InstallationStore, WorkspaceInstall
from adapters.slack.install.oauth_state import OAuthStates, StateCookie
from agent_core.errors import Conflict, DatabaseAway, SurfaceBusy
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database

logger = logging.getLogger(__name__)

INSTALL_PATH, REDIRECT_PATH = "/slack/install", "/slack/oauth_redirect"
TEAM_ID = re.compile(r"[TE][A-Z0-9]{1,30}")
REASON_CODE = re.compile(r"[a-z_]{1,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackApp:
    """The app's credentials at Slack and the scopes it asks for. `public_url`: this server's address for browsers."""

    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...]
    public_url: str

    @property
    def is_secure(self) -> bool:
        """Whether browsers connect over TLS. Only `public_url` tells it: requests from a proxy may be plain HTTP."""
        return self.public_url.startswith("https:")

    def url(self, path: str) -> str:
        return self.public_url.rstrip("/") + path


def oauth_flow(
    app: SlackApp, *, installed: InstallationStore, tokens: SlackTokens, database: Database, clock: Clock
) -> AsyncOAuthFlow:
    """Create Bolt's flow for this app. `routes` serves it; Bolt's AsyncApp can use it to find tokens."""
    states = OAuthStates(database=database, clock=clock, client_secret=app.client_secret)
    settings = AsyncOAuthSettings(
        client_id=app.client_id,
        client_secret=app.client_secret,
        scopes=app.scopes,
        user_scopes=(),
        redirect_uri=app.url(REDIRECT_PATH),
        install_path=INSTALL_PATH,
        redirect_uri_path=REDIRECT_PATH,
        authorization_url=urljoin(tokens.base_url, "../oauth/v2/authorize"),
        installation_store=BoltInstallationStore(installed, tokens),
        installation_store_bot_only=True,
        state_store=states,
        logger=logger,
    )
    settings.state_utils = StateCookie(is_secure=app.is_secure)
    said = OAuthCallbacks(app, settings.state_utils, tokens.base_url)
    settings.callback_options = AsyncCallbackOptions(success=said.success, failure=said.failure)
    return OAuthFlow(settings, tokens, installed, clock)


def routes(flow: AsyncOAuthFlow) -> list[web.RouteDef]:
    """The routes of the install page and the redirect page. They accept only GET, not HEAD."""

    async def install(request: web.Request) -> web.Response:
        return _page(await flow.handle_installation(_without_body(request)))

    async def redirect(request: web.Request) -> web.Response:
        return _page(await flow.handle_callback(_without_body(request)))

    return [web.get(INSTALL_PATH, install, allow_head=False), web.get(REDIRECT_PATH, redirect, allow_head=False)]


class WorkspaceNotAllowed(Exception):
    """The operator does not let this workspace install the app."""


class OAuthFlow(AsyncOAuthFlow):
    """Bolt's flow with the shared HTTP client and Signoff's clock; it never logs an authorization code."""

    def __init__(
        self, settings: AsyncOAuthSettings, tokens: SlackTokens, installed: InstallationStore, clock: Clock
    ) -> None:
        super().__init__(settings=settings, logger=logger)
        self._tokens = tokens
        self._installed = installed
        self._clock = clock

    @property
    def client(self) -> AsyncWebClient:
        return self._tokens.without_token()

    async def build_authorize_url(self, state: str, request: AsyncBoltRequest) -> str:
        """Return the URL of Slack's consent page; a valid team id in the query is passed on."""
        query = {
            "client_id": self.client_id,
            "scope": ",".join(self.settings.scopes or ()),
            "user_scope": "",
            "redirect_uri": self.redirect_uri or "",
            "state": state,
        }
        team = request.query.get("team", [""])[0]
        if TEAM_ID.fullmatch(team):
            query["team"] = team
        return f"{self.settings.authorization_url}?{urlencode(query)}"

    async def build_install_page_html(self, url: str, request: AsyncBoltRequest) -> str:
        return pages.invitation(url)

    async def run_installation(self, code: str) -> Installation | None:
        """Exchange the code; None if Slack returns no bot token."""
        app = self.settings
        given = {"code": code, "redirect_uri": app.redirect_uri or ""}
        call = exchange(self.client, client_id=app.client_id, client_secret=app.client_secret, **given)
        try:
            told = await require_success(call)
        except SlackRefused as refusal:
            logger.warning("Slack refused an installation", extra={"answer": refusal.error})
            return None
        except SurfaceBusy:
            logger.warning("Slack did not answer an installation")
            return None
        installation = _told(told, self._clock.now())
        if (workspace := _install(installation).workspace) and not self._installed.allows(workspace):
            logger.warning("a workspace that is not allowed tried to install", extra={"workspace": workspace})
            raise WorkspaceNotAllowed(workspace)
        return installation if installation.bot_token and _install(installation).workspace else None

    async def handle_callback(self, request: AsyncBoltRequest) -> BoltResponse:
        """Handle Slack's redirect; say so on a page if the workspace is not allowed or the database is away."""
        try:
            return await super().handle_callback(request)
        except WorkspaceNotAllowed:
            reason, status = "workspace_not_allowed", 403
        except (DatabaseAway, Conflict):
            reason, status = "database_away", 503
        failed = AsyncFailureArgs(
            request=request,
            reason=reason,
            suggested_status_code=status,
            settings=self.settings,
            default=self.default_callback_options,
        )
        return await self.failure_handler(failed)


class BoltInstallationStore(AsyncInstallationStore):
    """Bolt's interface to the installations. It gives valid tokens but no refresh tokens: Rotation alone refreshes."""

    def __init__(self, installed: InstallationStore, tokens: SlackTokens) -> None:
        self._installed = installed
        self._tokens = tokens

    @property
    def logger(self) -> logging.Logger:
        return logger

    async def async_save(self, installation: Installation) -> None:
        """Store an installation; raise BoltError if that fails."""
        try:
            await self._installed.keep(_install(installation))
        except (DatabaseAway, Conflict):
            raise BoltError("The installation could not be saved.") from None

    async def async_find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        """The bot of the team's installation, else of the organisation's; None if there is neither."""
        for workspace in (None if is_enterprise_install else team_id, enterprise_id):
            if workspace and (install := await self._tokens.source.valid(workspace)):
                return Installation(
                    app_id=install.app_id,
                    enterprise_id=enterprise_id,
                    team_id=team_id,
                    user_id="",
                    bot_token=install.bot_token,
                    bot_id="",
                    bot_user_id=install.bot_user,
                    bot_scopes=install.scopes,
                    is_enterprise_install=install.is_enterprise,
                ).to_bot()
        return None

    async def async_delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """Delete the installation of the team, or of the organisation if no team is given."""
        if workspace := team_id or enterprise_id:
            await self._installed.forget(workspace)

    async def async_delete_installation(
        self, *, enterprise_id: str | None, team_id: str | None, user_id: str | None = None
    ) -> None:
        """Do nothing: tokens of people are not stored."""


@dataclass(frozen=True, slots=True)
class OAuthCallbacks:
    """Builds the pages after success and failure; both delete the state cookie."""

    app: SlackApp
    cookie: OAuthStateUtils
    base_url: str

    async def success(self, args: AsyncSuccessArgs) -> BoltResponse:
        install = _install(args.installation)
        logger.info("installed in a workspace", extra={"workspace": install.workspace})
        query = urlencode({"app": install.app_id, "team": install.workspace})
        opens = urljoin(self.base_url, "/" if install.is_enterprise else f"/app_redirect?{query}")
        return self._response(200, pages.welcome(install.team_name, opens, is_enterprise=install.is_enterprise))

    async def failure(self, args: AsyncFailureArgs) -> BoltResponse:
        """Show why the installation failed. The reason may come from the query string: only a plain code is logged."""
        reason = args.reason if REASON_CODE.fullmatch(args.reason) else "unknown"
        logger.info("not installed in a workspace", extra={"reason": reason})
        return self._response(args.suggested_status_code, pages.refusal(reason, self.app.url(INSTALL_PATH)))

    def _response(self, status: int, html: str) -> BoltResponse:
        headers = {"Content-Type": "text/html", "Set-Cookie": self.cookie.build_set_cookie_for_deletion()}
        return BoltResponse(status=status, body=html, headers=headers)  # type: ignore[arg-type]


def _told(told: AsyncSlackResponse, now: datetime) -> Installation:
    team, enterprise = told.get("team") or {}, told.get("enterprise") or {}
    seconds = told.get("expires_in")
    return Installation(
        app_id=told.get("app_id"),
        enterprise_id=enterprise.get("id"),
        enterprise_name=enterprise.get("name"),
        team_id=team.get("id"),
        team_name=team.get("name"),
        bot_token=told.get("access_token"),
        bot_user_id=told.get("bot_user_id"),
        bot_scopes=told.get("scope") or "",
        bot_refresh_token=told.get("refresh_token"),
        bot_token_expires_at=int(now.timestamp()) + int(seconds) if seconds else None,
        user_id=(told.get("authed_user") or {}).get("id") or "",
        is_enterprise_install=bool(told.get("is_enterprise_install")),
    )


def _install(told: Installation) -> WorkspaceInstall:
    is_enterprise = bool(told.is_enterprise_install)
    expires = told.bot_token_expires_at
    return WorkspaceInstall(
        workspace=(told.enterprise_id if is_enterprise else told.team_id) or "",
        team_name=(told.enterprise_name if is_enterprise else told.team_name) or "",
        bot_token=told.bot_token or "",
        bot_user=told.bot_user_id or "",
        app_id=told.app_id or "",
        enterprise=told.enterprise_id or "",
        is_enterprise=is_enterprise,
        refresh_token=told.bot_refresh_token or "",
        expires_at=datetime.fromtimestamp(expires, UTC) if expires else None,
        scopes=tuple(told.bot_scopes or ()),
    )


def _without_body(request: web.Request) -> AsyncBoltRequest:
    """The request for Bolt, without the body: strangers may send these requests, and a GET needs no body."""
    return AsyncBoltRequest(body="", query=request.query_string, headers=dict(request.headers))


def _page(response: BoltResponse) -> web.Response:
    page = web.Response(
        status=response.status, text=response.body, content_type="text/html", charset="utf-8", headers=pages.HEADERS
    )
    for cookie in response.headers.get("set-cookie", ()):  # Bolt's own adapter drops SameSite and is always Secure
        page.headers.add("Set-Cookie", cookie)
    return page
