"""A fake of X's API v2 on 127.0.0.1: it checks signatures and rejects repeated texts."""

import asyncio
import base64
import hashlib
import hmac
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from aiohttp import web

from tests.standins.serving import serving

KEYS = {
    "api_key": "key-of-the-app",
    "api_secret": "secret-of-the-app",
    "access_token": "token-of-ana",
    "access_token_secret": "secret-of-ana",
}


@dataclass(frozen=True, slots=True)
class Says:
    """An HTTP answer; with status 0 no answer is sent, with -1 the connection breaks."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class XStandIn:
    """Gives the answers that a test defined, then X's usual ones. `posted` are the published posts."""

    url: str = ""
    posted: list[str] = field(default_factory=list)
    asked: list[web.Request] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _says: deque[Says] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def says(self, *answers: Says) -> None:
        self._says.extend(answers)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """POST /2/tweets."""
        self.asked.append(request)
        self.begun.set()
        answer = self._says.popleft() if self._says else await self._usual(request)
        if answer.status < 0 and request.transport:
            request.transport.abort()
        if not answer.status:
            await self._over.wait()
        if isinstance(answer.body, bytes):
            return web.Response(body=answer.body, status=max(answer.status, 200), headers=answer.headers)
        return web.json_response(answer.body, status=max(answer.status, 200), headers=answer.headers)

    def close(self) -> None:
        """Release requests that still wait."""
        self._over.set()

    async def _usual(self, request: web.Request) -> Says:
        if not is_signed(request.headers.get("Authorization", ""), self.url):
            return Says(401, {"title": "Unauthorized", "status": 401, "detail": "Unauthorized"})
        text = (await request.json())["text"]
        if text in self.posted:
            detail = "You are not allowed to create a Tweet with duplicate content."
            return Says(403, {"title": "Forbidden", "status": 403, "detail": detail})
        self.posted.append(text)
        return Says(201, {"data": {"id": "1700000000000000001", "text": text}})


def is_signed(header: str, url: str) -> bool:
    """Whether the header has a valid OAuth 1.0a signature (RFC 5849) for a POST without form fields."""
    given = {name: unquote(value) for name, value in re.findall(r'(oauth_\w+)="([^"]*)"', header)}
    signature = given.pop("oauth_signature", "")
    named = (given.get("oauth_consumer_key"), given.get("oauth_token")) == (KEYS["api_key"], KEYS["access_token"])
    whole = "&".join(f"{quote(name, '')}={quote(value, '')}" for name, value in sorted(given.items()))
    base = "&".join(quote(part, "") for part in ("POST", f"{url}/2/tweets", whole))
    key = f"{KEYS['api_secret']}&{KEYS['access_token_secret']}"
    right = base64.b64encode(hmac.new(key.encode(), base.encode(), hashlib.sha1).digest()).decode()
    return named and hmac.compare_digest(signature, right)


@asynccontextmanager
async def x_standin() -> AsyncIterator[XStandIn]:
    """Serve on a free port inside a with-block."""
    standin, app = XStandIn(), web.Application()
    app.router.add_post("/2/tweets", standin.post)
    async with serving(app) as standin.url:
        try:
            yield standin
        finally:
            standin.close()
