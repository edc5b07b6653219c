"""Admits requests by Host, Origin, key or token: against DNS rebinding, CSRF and strangers; adds security headers.

Another site in the same browser can send requests to this page. It cannot choose the Host header (so DNS rebinding to
127.0.0.1 is refused) or the Origin of a POST (so CSRF is refused), and it cannot read the cookie. Another account or
server of the machine can send any request, but has neither key nor token. Browsers send the key, as HTTP's basic
authentication, to the very port that asked for it; a cookie goes to all ports of a host.
"""

import base64
import binascii
import hashlib
import hmac
import logging
from asyncio import Lock
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapters.web.fault_page import fault_page
from adapters.web.identity import (
    CHECK_AGAIN,
    COOKIE_SECONDS,
    VISITOR,
    SignedCookie,
    Visitor,
    new_visitor,
    texts_of,
    visitor_in,
)
from adapters.web.requests import form_of
from adapters.web.sign_in.sessions import ENTER, OPEN_TO_STRANGERS, AccountSignIn
from adapters.web.urls import LOOPBACK, host_name, is_ip_address, local_path, origin_host
from agent_core.errors import DatabaseAway, InvalidInput
from agent_core.ports.clock import Clock
from agent_core.service.housekeeping.sign_outs import SignOuts
from agent_core.text.own_commands import command_text

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
logger = logging.getLogger(__name__)

ADMITTED = web.RequestKey("admitted", bool)
STATIC_FILES = "/static/"
OPEN_PATHS = (ENTER, STATIC_FILES)
SIGN_OUT = "/sign-out"
FORWARDING = frozenset(("forwarded", "via", "x-real-ip", "true-client-ip", "x-client-ip", "cf-connecting-ip"))
USER = "signoff"  # of basic authentication; only the key counts
CHALLENGE = {"WWW-Authenticate": 'Basic realm="Signoff", charset="UTF-8"'}
WRONG_SECONDS = 0.5  # between two answers to wrong keys or tokens, so that guessing is slow
NO_KEY = (
    "This page needs its key. Open the address that Signoff printed when it started. "
    f"On its machine, `{command_text('address')}` prints it again.\n"
)
PROXIED = (
    "This request came through a proxy, and without WEB_TOKEN this page is for this machine only. Set WEB_TOKEN.\n"
)
SCRAPED = (
    "This request came through a proxy, and without a token /metrics is for this machine only. Set METRICS_TOKEN.\n"
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Checks requests. `public_url`: the address at a reverse proxy.

    `token`: what people type at /enter. `key`: the secret in the address that is printed, where there is no token.
    Without both, the page is open; the process never serves it so. `sign_in`: where people sign in with accounts, these
    alone open pages, and token and key are for programs. `clock`: paces answers to wrong keys and tokens.
    `sign_outs`: whose cookies are void; None while no database is there. `guarded`: what it is, for the log.
    """

    token: str = ""
    key: str = ""
    public_url: str = ""
    clock: Clock | None = None
    sign_outs: SignOuts | None = None
    sign_in: AccountSignIn | None = None
    guarded: str = "the page"
    wrong: Lock = field(default_factory=Lock)

    def watch(self, app: web.Application, pages: Callable[[str], bool], any_host: Callable[[str], bool]) -> None:
        """Check each request of the application before anything else, and add the security headers to each response.

        Host is checked unless `any_host` is true for the path. Origin and token are checked, and headers added, only if
        `pages` is true for the path.
        """
        app.middlewares.insert(0, self._middleware(pages, any_host))

        async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
            """Called before the headers are sent; a middleware sees a stream only after that."""
            if pages(request.path):
                for name, value in HEADERS.items():
                    response.headers.setdefault(name, value)

        app.on_response_prepare.append(add_headers)

    def _middleware(self, pages: Callable[[str], bool], any_host: Callable[[str], bool]) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not any_host(request.path):
                self._check_host(request)
            if not pages(request.path):
                return await handler(request)
            self._check_origin(request)
            try:
                request[VISITOR] = await self._visitor(request)
            except DatabaseAway as away:
                return await answer_outage(request, away)
            request[CHECK_AGAIN] = lambda: self._visitor(request)
            if not self._is_open(request):
                await self._admit(request)
                request[ADMITTED] = True
            return await handler(request)

        return guard

    async def _visitor(self, request: web.Request) -> Visitor:
        """The visitor whom the cookie names, or a new one where that person has signed out.

        Raise DatabaseAway where a cookie names somebody: nobody knows whether they have signed out.
        """
        if request.path.startswith(STATIC_FILES):
            return new_visitor()  # the same for everybody, also while the database is away
        if self.sign_in:
            return await self.sign_in.visitor(request, self._has_ended)
        texts = self.cookie.read(request)
        visitor = visitor_in(texts)
        return new_visitor() if texts and await self._has_ended(visitor.ended_by) else visitor

    async def _has_ended(self, ended: str) -> bool:
        return self.sign_outs is not None and await self.sign_outs.has(ended)

    @property
    def asks_to_enter(self) -> bool:
        """Whether people come in by the page `/enter`."""
        return bool(self.token or self.sign_in)

    def _is_open(self, request: web.Request) -> bool:
        """Whether a stranger may ask for it: a file of the page's look, the form for the token, or the sign-in."""
        if self.sign_in:
            is_form = request.path in OPEN_TO_STRANGERS and request.method in ("GET", "HEAD")
        else:
            is_form = bool(self.token) and request.path == ENTER and request.method in ("GET", "HEAD", "POST")
        return is_form or (request.method in ("GET", "HEAD") and request.path.startswith(STATIC_FILES))

    async def require_bearer(self, request: web.Request) -> None:
        """Let in a program that sends the token, or where there is none the key; raise the answer to any other."""
        if not self.token and _is_forwarded(request):
            raise web.HTTPForbidden(text=SCRAPED)
        expected, given = self.token or self.key, _bearer(request) or _basic_password(request)
        if expected and not _is_same(given, expected):
            if given:
                await self.delay_wrong(request, "token")
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})

    async def _admit(self, request: web.Request) -> None:
        """Let in who has signed in, or has the token or the key; raise the answer to anyone else."""
        if self.asks_to_enter:
            if not request[VISITOR].has_entered:
                raise web.HTTPSeeOther(f"/enter?to={quote(local_path(request.rel_url.raw_path), safe='/')}")
        elif _is_forwarded(request):
            raise web.HTTPForbidden(text=PROXIED)
        elif self.key and not _is_same(given := _basic_password(request), self.key):
            if given:
                await self.delay_wrong(request, "key")
            raise web.HTTPUnauthorized(text=NO_KEY, headers=CHALLENGE)

    async def delay_wrong(self, request: web.Request, what: str) -> None:
        """Log a wrong key or token, and hold back the answer: one at a time, however many are guessed at once."""
        logger.warning("a wrong %s was given for %s", what, self.guarded, extra={"address": request.remote})
        async with self.wrong:
            if self.clock:
                await self.clock.sleep(WRONG_SECONDS)

    @property
    def cookie(self) -> SignedCookie:
        """The visitors' cookie. A new token, key or secret of the provider makes the cookies before it void."""
        if self.sign_in:
            return self.sign_in.session_cookie
        return SignedCookie(
            base_name="signoff",
            salt="signoff visitor",
            seconds=COOKIE_SECONDS,
            secret=cookie_secret(self.token or self.key),
            secure=self.is_secure,
        )

    def remember(self, response: web.StreamResponse, visitor: Visitor) -> None:
        """Set or renew the cookie; a session of an account ends in its time, and is not renewed."""
        if not self.sign_in:
            self.cookie.put(response, texts_of(visitor))

    @property
    def is_secure(self) -> bool:
        """Whether the page is served over HTTPS only, so that its cookies need the Secure flag."""
        return self.public_url.startswith("https:")

    def accepts(self, token: str) -> bool:
        return _is_same(token.strip(), self.token)

    def _check_host(self, request: web.Request) -> None:
        name = host_name(request.headers.get("Host", ""))
        if not (name and self._is_known_host(name)):
            said = f"{name or 'This'} is not a host name of this page. To allow it, set PUBLIC_URL.\n"
            raise web.HTTPForbidden(text=said)

    def _check_origin(self, request: web.Request) -> None:
        if request.method not in ("GET", "HEAD") and not self._is_from_this_page(request):
            raise web.HTTPForbidden(text="This request came from another page, so nothing was done.\n")

    def _is_from_this_page(self, request: web.Request) -> bool:
        origin, host = request.headers.get("Origin"), request.headers["Host"]
        if origin is None:
            return request.headers.get("Sec-Fetch-Site") in ("same-origin", "none")
        is_forged = self.is_secure and host_name(host) not in LOOPBACK and not origin.startswith("https:")
        return origin_host(origin) == host and not is_forged

    def _is_known_host(self, name: str) -> bool:
        public = urlsplit(self.public_url).hostname
        return name in LOOPBACK or name == public or (bool(self.token and not self.sign_in) and is_ip_address(name))


async def answer_outage(request: web.Request, away: DatabaseAway) -> web.Response:
    """The page that says so, which gives back what was written; not what a stranger, or a form for a token, sent."""
    if request.method == "POST" and not request.path.startswith(OPEN_PATHS):
        with suppress(InvalidInput):
            await form_of(request)
    return fault_page(request, away)


@cache
def cookie_secret(secret: str) -> str:
    """The key that signs cookies; slow to compute, so that nobody finds a token by trying words on a cookie."""
    return hashlib.scrypt(secret.encode(), salt=b"signoff cookies", n=2**14, r=8, p=1).hex()


def _is_forwarded(request: web.Request) -> bool:
    """Whether a proxy says that it passes the request on."""
    names = [name.casefold() for name in request.headers]
    return any(name in FORWARDING or name.startswith("x-forwarded-") for name in names)


def _bearer(request: web.Request) -> str:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.casefold() == "bearer" else ""


def _basic_password(request: web.Request) -> str:
    """The password of basic authentication; "" without one."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.casefold() != "basic":
        return ""
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _is_same(given: str, expected: str) -> bool:
    """Compare in constant time; `given` may have lone surrogates."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())
