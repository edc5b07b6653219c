"""Who may talk to the page at all: the right Host, the right Origin, and beyond this machine a token.

A page of somebody else in the same browser can send requests here. It cannot choose the Host header (so a name that
was rebound to 127.0.0.1 is refused), nor the Origin of a POST (so it can press nothing), nor read the cookie.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

COOKIE = "signoff_token"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
OPEN_PATHS = ("/enter", "/static/", "/healthz")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """`token` is required when set; `public_url` is where a proxy shows the page."""

    token: str = ""
    public_url: str = ""

    def middleware(self, paths: Callable[[str], bool]) -> Middleware:
        """The check as an aiohttp middleware, for the paths it is to guard."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not paths(request.path):
                return await handler(request)
            self._check(request)
            if self.token and not request.path.startswith(OPEN_PATHS) and not self.knows(request):
                raise web.HTTPSeeOther(f"/enter?to={request.path}")
            response = await handler(request)
            if not response.prepared:
                response.headers.update(
                    {name: value for name, value in HEADERS.items() if name not in response.headers}
                )
            return response

        return guard

    def knows(self, request: web.Request) -> bool:
        """Whether the browser has shown the token before."""
        return hmac.compare_digest(request.cookies.get(COOKIE, ""), self.badge)

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the page by TLS alone, so that its cookies never go another way."""
        return self.public_url.startswith("https:")

    @property
    def badge(self) -> str:
        """What the cookie holds in place of the token."""
        return hashlib.sha256(b"signoff badge\0" + self.token.encode()).hexdigest()

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(token.strip().encode(), self.token.encode())

    def _check(self, request: web.Request) -> None:
        if not self._is_known_host(request.host):
            raise web.HTTPForbidden(
                text=f"{request.host} is not a name of this page. Set PUBLIC_URL if it should be.\n"
            )
        if request.method not in ("GET", "HEAD") and not _is_from_this_page(request):
            raise web.HTTPForbidden(text="This request came from another page, so nothing was done.\n")

    def _is_known_host(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname or ""
        public = urlsplit(self.public_url).hostname
        return name in LOOPBACK or name == public or (bool(self.token) and _is_address(name))


def _is_from_this_page(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        return urlsplit(origin).netloc == request.host
    return request.headers.get("Sec-Fetch-Site") in ("same-origin", "none")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
