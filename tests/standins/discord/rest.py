"""The REST API over HTTP: who calls, what fails on purpose, which limits are told, and simcord's answer."""

import json
import time
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import discord
from aiohttp import BodyPartReader, hdrs, web
from simcord.backend.errors import BackendError
from simcord.http import router
from simcord.http.router import RouteNotImplemented, UnsupportedField

from tests.standins.discord.state import Discord
from tests.standins.discord.values import Call, Json, route_of
from tests.standins.slack.faults import Fault

# Only these carry their own token: docs.discord.com/developers/interactions/receiving-and-responding
WITH_OWN_TOKEN = ("/interactions/", "/webhooks/")
SEND = "POST /channels/{id}/messages"
LONGEST_NONCE = 25  # docs.discord.com/developers/resources/message#create-message
MAY_READ_CONTENT = 1 << 19  # an application's flag GATEWAY_MESSAGE_CONTENT_LIMITED


class Rest:
    """Answers the bot's calls."""

    def __init__(self, discord: Discord) -> None:
        self.discord = discord

    async def handle(self, request: web.Request) -> web.Response:
        """One call, as Discord would take it."""
        path = "/" + request.rel_url.raw_path.removeprefix("/api/v10").strip("/")
        route = route_of(request.method, path)
        body, files = await _read(request)
        self.discord.calls.append(Call(route, path, body, time.monotonic()))
        self.discord.changed()
        if not self._is_known(request, path):
            return _json({"message": "401: Unauthorized", "code": 0}, 401)
        faults = self.discord.faults
        goes_on = await faults.passes(route, after_effect=False)
        fault = faults.take(route) if goes_on else Fault(1, "drop")
        if fault and not fault.after_effect:
            return _failed(request, fault)
        answer = self._dispatch(request, path, body, files)
        if not await faults.passes(route, after_effect=True):
            fault = Fault(1, "drop")
        return _failed(request, fault) if fault else answer

    def _is_known(self, request: web.Request, path: str) -> bool:
        return path.startswith(WITH_OWN_TOKEN) or request.headers.get("Authorization") == f"Bot {self.discord.token}"

    def _dispatch(self, request: web.Request, path: str, body: Any, files: list[discord.File]) -> web.Response:
        try:
            answer = self._answered(request, path, body, files)
        except (RouteNotImplemented, UnsupportedField) as unknown:
            self.discord.warnings.append(str(unknown))
            return _json(unknown.to_json(), 501)
        except BackendError as refused:
            return _json(refused.to_json(), refused.status)
        finally:
            self.discord.changed()
        return web.Response(status=204) if answer is None else _json(answer)

    def _answered(self, request: web.Request, path: str, body: Any, files: list[discord.File]) -> Any:
        if path == "/gateway":
            return {"url": self.discord.gateway_url}
        key = _nonce(request.method, path, body)
        if key and len(key[1]) > LONGEST_NONCE:
            raise BackendError(400, 50035, "Invalid Form Body: nonce: Must be 25 or fewer in length.")
        if key in self.discord.nonces:
            return self._sent_before(path, self.discord.nonces[key])
        answer = router.dispatch(
            self.discord.backend,
            request.method,
            path,
            json=body,
            params=dict(request.query),
            files=files,
            reason=request.headers.get("X-Audit-Log-Reason"),
            message_content_access=self.discord.grants_content,
        )
        if key and isinstance(answer, dict):
            self.discord.nonces[key] = str(answer["id"])
            answer["nonce"] = key[1]
        if path in ("/oauth2/applications/@me", "/applications/@me") and self.discord.grants_content:
            answer = {**answer, "flags": MAY_READ_CONTENT}
        return answer

    def _sent_before(self, path: str, message_id: str) -> Any:
        """With `enforce_nonce` the message that was sent with it is the answer, and no other is made."""
        return router.dispatch(self.discord.backend, "GET", f"{path}/{message_id}")


def _nonce(method: str, path: str, body: Any) -> tuple[str, str] | None:
    if route_of(method, path) != SEND or not isinstance(body, dict) or not body.get("enforce_nonce"):
        return None
    return path, str(body["nonce"])


async def _read(request: web.Request) -> tuple[Any, list[discord.File]]:
    if request.content_type == "application/json":
        return await request.json(), []
    if not request.content_type.startswith("multipart/"):
        return None, []
    body: Any = None
    contents: list[tuple[str, bytes]] = []
    async for part in await request.multipart():
        assert isinstance(part, BodyPartReader)
        content = bytes(await part.read())
        if part.name == "payload_json":
            body = json.loads(content)
        else:
            contents.append((part.filename or "", content))
    described = {str(each.get("id")): each for each in (body or {}).get("attachments") or []}
    return body, [_file(name, content, described.get(str(n), {})) for n, (name, content) in enumerate(contents)]


def _file(name: str, content: bytes, described: Mapping[str, Any]) -> discord.File:
    return discord.File(BytesIO(content), filename=name, description=described.get("description"))


def _failed(request: web.Request, fault: Fault) -> web.Response:
    if fault.status == "drop":
        assert request.transport
        request.transport.abort()
        return web.Response(status=500)
    if fault.retry_after:
        return _too_many(float(fault.retry_after))
    return _json({"message": fault.error or "failed on purpose", "code": 0}, fault.status)


def _too_many(seconds: float) -> web.Response:
    """As docs.discord.com/developers/topics/rate-limits has it; discord.py takes it as Discord's by `Via` alone."""
    answer = _json({"message": "You are being rate limited.", "retry_after": seconds, "global": False}, 429)
    answer.headers.update(
        {
            "Via": "1.1 google",
            "Retry-After": str(seconds),
            "X-RateLimit-Limit": "5",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset-After": str(seconds),
            "X-RateLimit-Bucket": "abcd1234",
            "X-RateLimit-Scope": "user",
        }
    )
    return answer


def _json(body: Json | list[Any], status: int = 200) -> web.Response:
    """JSON with exactly the content type that discord.py reads as JSON."""
    answer = web.Response(body=json.dumps(body).encode(), status=status)
    answer.headers[hdrs.CONTENT_TYPE] = "application/json"
    return answer
