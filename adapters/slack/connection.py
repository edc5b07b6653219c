"""The connection to Slack: Socket Mode or signed HTTP routes, tests of tokens, and the catch-up of messages."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from adapters.chat.catchup import HEARTBEAT_SECONDS, RETRY_SECONDS, CatchUp
from adapters.http_body import read_body
from adapters.slack.api.web_api import SlackRefused, require_success
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.routing import EventRouter, SlackAuthorizer
from adapters.slack.install import oauth
from agent_core.errors import DatabaseAway, SettingsError, SurfaceError

logger = logging.getLogger(__name__)
bolt_logger = logging.getLogger("slack_bolt.signoff")
bolt_logger.setLevel(logging.ERROR)  # it warns of environment variables that it reads by itself

EVENTS_PATH = "/slack/events"
# Slack's own limits: a message has 50 blocks of 3,000 characters and 40,000 characters of text, a view 250 kB. In a
# form a character takes up to 8 bytes (%5Cu4e2d), so the longest message with a button is about 1.5 MB.
MAX_REQUEST_BYTES = 2 * 2**20
WRONG_APP_LEVEL_KEY = (
    "Slack refuses this token ({}): make one with the scope connections:write under Basic Information."
)


@dataclass(slots=True, kw_only=True)
class SlackConnection:
    """Receives Slack's events: by Socket Mode if there is an app token, else by signed HTTP requests.

    `heard_at`: the time at which Slack last sent anything.
    """

    context: SlackContext
    events: EventRouter
    catch_up: CatchUp
    signing_secret: str
    app_token: str
    oauth: AsyncOAuthFlow | None = None
    bolt: AsyncApp = field(init=False)
    heard_at: datetime | None = None
    ping_interval: float = 5.0

    def __post_init__(self) -> None:
        door = SlackAuthorizer(self.context.calls.tokens)
        self.bolt = AsyncApp(
            name="signoff",
            logger=bolt_logger,
            signing_secret=self.signing_secret,
            client=self.context.calls.tokens.without_token(),
            before_authorize=door.find,
            authorize=door,  # type: ignore[arg-type]
            oauth_flow=self.oauth,
            process_before_response=True,  # a click is acknowledged only after it was saved
            ssl_check_enabled=False,
        )
        self.events.listen(self.bolt)

    @property
    def has_one_listener(self) -> bool:
        """False: Slack sends each event to one of the connections."""
        return False

    @property
    def routes(self) -> list[web.RouteDef]:
        """The HTTP routes for Slack's requests and for the installation of the app."""
        by_http = [] if self.app_token else [web.post(EVENTS_PATH, self._receive)]
        return [*by_http, *(oauth.routes(self.oauth) if self.oauth else [])]

    async def prepare(self) -> None:
        """Test the tokens; raise SettingsError if Slack rejects one. An unreachable Slack is no error."""
        try:
            await self.context.calls.tokens.source.prepare()
        except SurfaceError as fault:
            logger.warning("slack unreachable, retrying", extra={"why": str(fault)})
        if self.app_token:
            await self._check_app_token()

    async def run(self) -> None:
        """Listen until cancelled. Read missed messages whenever a socket connects; with HTTP, once at the beginning."""
        await self._prepare_tokens()
        await self._warm_directory()
        try:
            if self.app_token:
                await self._by_socket()
            else:
                await self.catch_up.read_all(self._workspaces)
                await self._keep_time(_always)
        finally:
            await self.context.soon.close()

    async def _warm_directory(self) -> None:
        """Look people up before they click. While the database is away, they are looked up when they first act."""
        with suppress(DatabaseAway):
            for workspace in await self._workspaces():
                self.context.soon(self.context.directory.warm(workspace))

    async def _check_app_token(self) -> None:
        client = self.context.calls.tokens.without_token()
        try:
            await require_success(client.apps_connections_open(app_token=self.app_token))
        except SlackRefused as refusal:
            raise SettingsError("SLACK_APP_TOKEN", WRONG_APP_LEVEL_KEY.format(refusal.error), "xapp-…") from None
        except SurfaceError as fault:
            logger.warning("slack unreachable, retrying", extra={"why": str(fault)})

    async def _prepare_tokens(self) -> None:
        while True:
            try:
                await self.context.calls.tokens.source.prepare()
                return await self.events.installed.settle_tools() if self.events.installed else None
            except (SurfaceError, DatabaseAway):
                await self.context.clock.sleep(RETRY_SECONDS)

    async def _by_socket(self) -> None:
        client = self.context.calls.tokens.without_token()
        handler = AsyncSocketModeHandler(self.bolt, self.app_token, web_client=client, ping_interval=self.ping_interval)
        handler.client.message_listeners.append(self._note_event)
        try:
            await handler.client.connect()  # type: ignore[no-untyped-call]
            await self._keep_time(handler.client.is_connected)
        finally:
            await handler.client.close()  # type: ignore[no-untyped-call]

    async def _note_event(self, _client: Any, message: dict[str, Any], _raw: str | None) -> None:
        """Record when Slack sent something; at the hello of a new socket, read messages that Slack does not resend."""
        self.heard_at = self.context.clock.now()
        if message.get("type") == "disconnect":  # Slack renews its sockets every few hours
            logger.info("disconnected", extra={"surface": "slack", "why": str(message.get("reason", ""))[:100]})
        if message.get("type") == "hello":
            logger.info("connected", extra={"surface": "slack"})
            self.context.soon(self.catch_up.read_all(self._workspaces))

    async def _workspaces(self) -> list[str]:
        return [install.workspace for install in await self.context.calls.tokens.source.every()]

    async def _keep_time(self, is_connected: Callable[[], Awaitable[bool]]) -> None:
        while True:
            await self.context.clock.sleep(HEARTBEAT_SECONDS)
            try:
                if not self.catch_up.behind and await is_connected():
                    for workspace in await self._workspaces():
                        await self.catch_up.keep_time(workspace)
            except DatabaseAway:  # the next beat tries again
                continue

    async def _receive(self, request: web.Request) -> web.Response:
        """Receive one request. Its signature is checked first: Bolt, which checks it again, parses before it does."""
        body = await read_body(request, MAX_REQUEST_BYTES)
        if not _is_signed(body, request.headers, self.signing_secret):
            return web.json_response({"error": "Slack did not sign this request."}, status=401)
        self.heard_at = self.context.clock.now()
        query, headers = request.query_string, dict(request.headers)
        bolt_request = AsyncBoltRequest(body=body.decode(), query=query, headers=headers)  # type: ignore[arg-type]
        return await to_aiohttp_response(await self.bolt.async_dispatch(bolt_request))


def _is_signed(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    """Whether Slack signed these bytes within five minutes; never without a secret."""
    try:
        return SignatureVerifier(secret).is_valid_request(body, headers)
    except (TypeError, ValueError, OverflowError):  # no secret; no number; a huge number; not ASCII; not UTF-8
        return False


async def _always() -> bool:
    return True
