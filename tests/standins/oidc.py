"""Providers of accounts on loopback sockets: a real one from PyPI, and one of our own that can be made to lie."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from aiohttp import ClientSession, web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from joserfc.util import urlsafe_b64encode

from tests.standins.serving import serving

CLIENT_ID, CLIENT_SECRET = "signoff", "a-secret-of-the-client"
SERVER = """
import os
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from oidc_provider_mock import app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, app(require_nonce=True), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The address of a real provider that ends with the tests. It asks who somebody is, and believes the answer."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


async def make_account(provider: str, subject: str, **claims: object) -> None:
    """Make an account at the real provider, or change what it says of one."""
    async with ClientSession() as session, session.put(f"{provider}/users/{quote(subject)}", json=claims) as answer:
        assert answer.status == 204


def make_key(key_id: str = "first") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": key_id, "use": "sig"})


@dataclass(slots=True)
class OwnProvider:
    """Signs in whoever comes, as `subject`. What it says can be changed, before it is signed and after.

    `claims` are put over the right ones, and None takes one out. `sign` makes the token, by default with `key`.
    `keys`: those that it publishes. `checks_verifier`: whether it holds a code to the browser that asked for it.
    `answers`: until this happens it says nothing of itself; `is_asked`: somebody waits for that.
    `metadata` is put over what it says of itself. `userinfo`: what its page of the person says beside the subject.
    """

    subject: str = "sub-1"
    claims: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=make_key)
    keys: Sequence[RSAKey] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    sign: Callable[["OwnProvider", dict[str, Any]], str] | None = None
    checks_verifier: bool = True
    is_away: bool = False
    answers: asyncio.Event | None = None
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    codes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self.describe)
        app.router.add_get("/authorize", self.authorize)
        app.router.add_post("/token", self.issue)
        app.router.add_get("/keys", self.publish)
        app.router.add_get("/person", self.person)
        return app

    async def describe(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.answers:
            self.is_asked.set()
            await self.answers.wait()
        if self.is_away:
            return web.Response(status=503)
        person = {} if self.userinfo is None else {"userinfo_endpoint": f"{self.address}/person"}
        said = {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
            **person,
            **self.metadata,
        }
        return web.json_response({name: value for name, value in said.items() if value is not None})

    async def authorize(self, request: web.Request) -> web.Response:
        code = f"code-{len(self.codes)}"
        self.codes[code] = dict(request.query)
        back = urlencode({"code": code, "state": request.query["state"]})
        raise web.HTTPFound(f"{request.query['redirect_uri']}?{back}")

    async def issue(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.is_away:
            return web.Response(status=503)
        form = await request.post()
        begun = self.codes.pop(str(form["code"]), None)
        digest = urlsafe_b64encode(sha256(str(form.get("code_verifier", "")).encode()).digest()).decode()
        if begun is None or (self.checks_verifier and digest != begun["code_challenge"]):
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(time.time())
        right = {"iss": self.address, "aud": CLIENT_ID, "sub": self.subject, "iat": now, "exp": now + 300}
        said = {**right, "nonce": begun["nonce"], "name": "Ana", **self.claims}
        said = {name: value for name, value in said.items() if value is not None}
        token = self.sign(self, said) if self.sign else self.signed(said)
        self.tokens.append(token)
        return web.json_response({"access_token": "an-access-token", "token_type": "Bearer", "id_token": token})

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    async def publish(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        return web.json_response(KeySet([*(self.keys or [self.key])]).as_dict())

    async def person(self, _request: web.Request) -> web.Response:
        return web.json_response({"sub": self.subject, **(self.userinfo or {})})


@asynccontextmanager
async def own_provider(**said: Any) -> AsyncIterator[OwnProvider]:
    """A provider of our own that serves inside the block."""
    made = OwnProvider(**said)
    async with serving(made.app()) as made.address:
        yield made
