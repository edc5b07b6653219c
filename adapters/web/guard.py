"""Checks Host, Origin and token of each request: protects against DNS rebinding, CSRF and strangers.

Another site in the same browser can send requests to this page. It cannot choose the Host header (so DNS rebinding to
127.0.0.1 is refused) or the Origin of a POST (so CSRF is refused), and it cannot read the cookie.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapters.web.urls import host_name, is_ip_address, local_path, origin_host

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

COOKIE = "signoff_token"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
OPEN_PATHS = ("/enter", "/static/")
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
    """Checks requests. `token`: required from every browser, if set. `public_url`: the address at a reverse proxy."""

    token: str = ""
    public_url: str = ""

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
            _check_origin(request)
            if self.token and not request.path.startswith(OPEN_PATHS) and not self.knows(request):
                raise web.HTTPSeeOther(f"/enter?to={quote(local_path(request.rel_url.raw_path), safe='/')}")
            return await handler(request)

        return guard

    def knows(self, request: web.Request) -> bool:
        """Whether the request has the cookie that `/enter` sets after the right token was typed."""
        return _is_same(request.cookies.get(COOKIE, ""), self.badge)

    @property
    def is_secure(self) -> bool:
        """Whether the page is served over HTTPS only, so that its cookies need the Secure flag."""
        return self.public_url.startswith("https:")

    @property
    def badge(self) -> str:
        """The value of the cookie: a hash of the token."""
        return hashlib.sha256(b"signoff badge\0" + self.token.encode()).hexdigest()

    def accepts(self, token: str) -> bool:
        return _is_same(token.strip(), self.token)

    def _check_host(self, request: web.Request) -> None:
        name = host_name(request.headers.get("Host", ""))
        if not (name and self._is_known_host(name)):
            said = f"{name or 'This'} is not a host name of this page. To allow it, set PUBLIC_URL.\n"
            raise web.HTTPForbidden(text=said)

    def _is_known_host(self, name: str) -> bool:
        public = urlsplit(self.public_url).hostname
        return name in LOOPBACK or name == public or (bool(self.token) and is_ip_address(name))


def _check_origin(request: web.Request) -> None:
    if request.method not in ("GET", "HEAD") and not _is_from_this_page(request):
        raise web.HTTPForbidden(text="This request came from another page, so nothing was done.\n")


def _is_from_this_page(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        return origin_host(origin) == request.headers["Host"]
    return request.headers.get("Sec-Fetch-Site") in ("same-origin", "none")


def _is_same(given: str, expected: str) -> bool:
    """Compare in constant time; `given` may have lone surrogates."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())
