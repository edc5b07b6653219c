"""The server: one app's Slack on a free port, for as long as the context lasts."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import hdrs, web

from tests.standins.serving import serving
from tests.standins.slack import methods_chat, methods_files, methods_reading, methods_views, responses
from tests.standins.slack.deliveries import Courier
from tests.standins.slack.faults import Fault, Held, Status
from tests.standins.slack.oauth import OAuth
from tests.standins.slack.state import Slack
from tests.standins.slack.teams import Team
from tests.standins.slack.values import Answer, Arguments, Call, Delivery, Json, Refused, decoded

METHODS = {
    **methods_chat.METHODS,
    **methods_reading.METHODS,
    **methods_views.METHODS,
    **methods_files.METHODS,
}
STRUCTURED = ("blocks", "attachments", "metadata", "view", "files")


@dataclass(eq=False, kw_only=True, repr=False)
class SlackStandin(Slack):
    """Slack, as one app sees it."""

    oauth: OAuth = field(init=False)

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        *,
        signing_secret: str = "s3cret",
        app_token: str = "xapp-1-A1",
        client_id: str = "1.2",
        client_secret: str = "cs",
    ) -> AsyncIterator["SlackStandin"]:
        """Serve on a free port until the context ends."""
        slack = cls(
            signing_secret=signing_secret, app_token=app_token, client_id=client_id, client_secret=client_secret
        )
        slack.courier, slack.oauth = Courier(slack), OAuth(slack)
        async with serving(slack._application()) as slack.base_url:
            try:
                yield slack
            finally:
                await slack.courier.close()

    def team(self, team_id: str, *, name: str = "Acme", bot_token: str = "") -> Team:
        """A workspace; with a token the app is installed in it."""
        self.teams[team_id] = Team(slack=self, id=team_id, name=name, bot_token=bot_token)
        return self.teams[team_id]

    def deliver_to(self, url: str) -> None:
        """Send everything to this URL over HTTP; with an empty one through the sockets again."""
        self.courier.url = url

    def fails(
        self,
        method: str,
        *,
        times: int = 1,
        status: Status = 200,
        error: str = "",
        retry_after: str = "",
        after_effect: bool = False,
    ) -> None:
        """Let the next calls of a method fail: with a status, an error, or a connection that drops."""
        self.faults.add(method, Fault(times, status, error, retry_after, after_effect))

    def recovers(self, method: str) -> None:
        """Let the calls of a method succeed again."""
        self.faults.forget(method)

    def holding(self, method: str, *, after_effect: bool = False) -> AbstractContextManager[Held]:
        """Let calls of a method wait, before they take effect or before they are answered."""
        return self.faults.holding(method, after_effect=after_effect)

    def disable(self, *methods: str) -> None:
        """Be a Slack that does not have these methods."""
        self.faults.disabled.update(methods)

    async def uninstall(self, team: Team) -> None:
        """Somebody removes the app from the workspace."""
        team.revoke()
        revoked = {"oauth": [], "bot": [team.bot_user]}
        await self.courier.event(team, {"type": "tokens_revoked", "tokens": revoked})
        await self.courier.event(team, {"type": "app_uninstalled"})

    @property
    def sockets(self) -> int:
        """How many are open."""
        return len(self.courier.sockets.open)

    async def connected(self, sockets: int = 1) -> None:
        """Wait until so many sockets are open."""
        await self.until(lambda: self.sockets >= sockets)

    async def drop_sockets(self, *, warn: bool = False, cut: bool = False) -> None:
        """Close the sockets: after a `disconnect` envelope, with a close frame alone, or with neither."""
        await self.courier.sockets.drop(warn=warn, cut=cut)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Deliver nothing through the sockets; what happens meanwhile is lost, and at the end they are closed."""
        self.courier.sockets.is_away = True
        try:
            yield
        finally:
            self.courier.sockets.is_away = False
            self.courier.in_background(self.courier.sockets.close_left(self.courier.sockets.leave()))

    async def settled(self) -> None:
        """Wait until no delivery is under way, retries included."""
        await self.courier.settle()

    async def redeliver(self, delivery: Delivery, *, retry: int = 1, reason: str = "http_timeout") -> Delivery:
        """The same once more, as Slack does when it has seen no answer."""
        return await self.courier.attempt(delivery.kind, delivery.name, delivery.payload, retry, reason)

    async def verifies_url(self) -> bool:
        """Whether the app answers the challenge that Slack sends to a new URL."""
        body = b'{"token": "verification-token", "challenge": "3eZbrw1aB", "type": "url_verification"}'
        answer = await self.courier.raw(body, self.courier.headers(body, content_type="application/json"))
        said = answer.body.get("challenge") if isinstance(answer.body, dict) else answer.body
        return answer.is_acknowledged and said == "3eZbrw1aB"

    async def post_raw(self, body: str | bytes, headers: Mapping[str, str]) -> Answer:
        """POST to the app as somebody who need not be Slack."""
        return await self.courier.raw(body, headers)

    def signed(self, body: bytes, *, content_type: str = "application/json", age: float = 0) -> dict[str, str]:
        """The headers that Slack would send with this body, or would have sent so many seconds ago."""
        return self.courier.headers(body, content_type=content_type, timestamp=time.time() - age)

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/link/", self.courier.sockets.serve)
        app.router.add_get("/oauth/v2/authorize", self.oauth.authorize)
        app.router.add_post("/{kind:commands|actions}/{team}/{key}", self._respond)
        app.router.add_post("/upload/v1/{file_id}", self._upload)
        app.router.add_get("/files-pri/{file_id}/{rest:.*}", self._download)
        return app

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        return await responses.respond(self, request)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        return await methods_files.upload(self, request)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        return await methods_files.download(self, request)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        token = str(arguments.pop("token", "")) or _bearer(request)
        self.calls.append(Call(method, arguments, token, time.monotonic()))
        self.changed()
        if not await self.faults.passes(method, after_effect=False):
            return _dropped(request)
        fault = self.faults.take(method)
        if fault and not fault.after_effect:
            return _failed(fault, request)
        body = self._performed(method, token, Arguments(arguments))
        self.changed()
        if not await self.faults.passes(method, after_effect=True):
            return _dropped(request)
        if fault:
            return _failed(fault, request)
        return web.json_response(body, headers={"X-OAuth-Scopes": self.scopes})

    def _performed(self, method: str, token: str, given: Arguments) -> Json:
        try:
            return self._perform("" if method in self.faults.disabled else method, token, given)
        except Refused as refusal:
            return refusal.body

    def _perform(self, method: str, token: str, given: Arguments) -> Json:
        if method == "oauth.v2.access":
            return self.oauth.access(given)
        if method == "apps.connections.open":
            return self.courier.sockets.ticket(token)
        if method not in METHODS:
            raise Refused("unknown_method")
        return METHODS[method](self.team_of(token), given)


async def _arguments(request: web.Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        found |= await request.json()
    elif request.method == "POST":
        found |= await request.post()
    client, _, secret = _basic(request).partition(":")
    if client:
        found |= {"client_id": client, "client_secret": secret}
    return {name: decoded(value) if name in STRUCTURED else value for name, value in found.items()}


def _bearer(request: web.Request) -> str:
    scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    return token if scheme == "Bearer" else ""


def _basic(request: web.Request) -> str:
    scheme, _, encoded = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    return base64.b64decode(encoded).decode() if scheme == "Basic" else ""


def _dropped(request: web.Request) -> web.StreamResponse:
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()
    return web.Response()


def _failed(fault: Fault, request: web.Request) -> web.StreamResponse:
    if fault.status == "drop":
        return _dropped(request)
    headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
    error = fault.error or ("ratelimited" if fault.status == 429 else "internal_error")
    return web.json_response({"ok": False, "error": error}, status=fault.status, headers=headers)
