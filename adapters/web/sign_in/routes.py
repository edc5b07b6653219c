"""The pages of the sign-in: the way to the provider, the way back with its answer, and what to do when it failed."""

import hmac
import logging
import re
from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web

from adapters.web.identity import visitor_of
from adapters.web.render import page
from adapters.web.requests import redirect_to
from adapters.web.sign_in.sessions import BEGIN, CALLBACK, ENTER, AccountSignIn, NotTrusted, ProviderAway
from adapters.web.theme import theme_of
from adapters.web.urls import local_path
from agent_core.model.origin import Actor

MAX_TARGET = 1000  # characters of the page to go to, which is kept in a cookie
AWAY = 503  # the status where nobody was refused: the provider does not answer
FAULT_WORD = re.compile(r"[a-z_]{1,40}", re.ASCII)
NOT_BEGUN = "This sign-in did not begin in this browser, or more than ten minutes ago. Sign in again."
PROVES_NOTHING = (
    "The answer of {} does not prove who you are, so nobody is signed in. Sign in again. If it happens again, tell "
    "your operator: Signoff's log says why."
)
NO_MEMBER = (
    "{} says that you are {}. Signoff lets in members of certain groups only, and you are in none of them. Sign in "
    "with another account, or ask your operator."
)

logger = logging.getLogger(__name__)


class Refused(Exception):
    """Nobody is signed in. `said`: why, for the person; `status`: of the answer; `why`: for the log."""

    def __init__(self, said: str, status: int, why: str) -> None:
        self.said, self.status, self.why = said, status, why
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class SignInRoutes:
    """One handler for each step."""

    sign_in: AccountSignIn

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get(ENTER, self.enter),
            web.get(BEGIN, self.begin, allow_head=False),
            web.get(CALLBACK, self.finish, allow_head=False),
        ]

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """The page with the button that leads to the provider; somebody who is signed in goes on at once.

        A browser that follows a link of another site, such as a chat's, brings no Strict cookie along: it tries again.
        """
        to = _target(request.query.get("to", "/"))
        if request.headers.get("Sec-Fetch-Site") == "cross-site":
            return self._go_on(request, to)
        return redirect_to(to) if visitor_of(request).has_entered else self._page(request, to)

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Keep in the browser what is needed when it comes back, and send it to the provider."""
        to, asks_which = _target(request.query.get("to", "/")), "other" in request.query
        if visitor_of(request).has_entered:
            return redirect_to(to)
        try:
            begun = await self.sign_in.provider.begin(self.sign_in.callback(request), asks_which=asks_which)
        except ProviderAway as away:
            return self._refuse(request, self._away(away))
        response = redirect_to(begun.url)
        response.headers["Cache-Control"] = "no-store"
        self.sign_in.attempt_cookie.put(response, [begun.state, begun.nonce, begun.verifier, to])
        return response

    async def finish(self, request: web.Request) -> web.StreamResponse:
        """Sign in whom the provider names, if this browser began it, and go on to the page that was wanted.

        By a page, not a redirect: the browser came from another site, and would not bring its Strict cookie along.
        """
        match self.sign_in.attempt_cookie.read(request):
            case [state, nonce, verifier, to] if _is_same(state, request.query.get("state", "")):
                pass
            case _:
                why = "its state is not that of an attempt of this browser"
                return self._refuse(request, Refused(NOT_BEGUN, 403, why))
        try:
            person = await self._person(request, nonce, verifier)
        except Refused as refused:
            left = "" if refused.status == AWAY else await self.sign_in.provider.sign_out_address()
            response = self._refuse(request, refused, _target(to), left)
        else:
            response = self._go_on(request, _target(to))
            self.sign_in.start(person, response)
            logger.info("signed in", extra={"account": person.id})
        self.sign_in.attempt_cookie.forget(response)
        return response

    async def _person(self, request: web.Request, nonce: str, verifier: str) -> Actor:
        """Who came back and may come in; raise Refused."""
        given, host = request.query, self.sign_in.provider.host
        if "error" in given or not given.get("code"):
            word = given.get("error", "")
            word = word if FAULT_WORD.fullmatch(word) else "no reason that can be shown"
            raise Refused(f"{host} did not sign you in ({word}).", 403, word)
        try:
            person = await self.sign_in.provider.finish(given["code"], self.sign_in.callback(request), nonce, verifier)
        except ProviderAway as away:
            raise self._away(away) from away
        except NotTrusted as wrong:
            raise Refused(PROVES_NOTHING.format(host), 403, str(wrong)) from wrong
        if not await self.sign_in.learn(person):
            said = NO_MEMBER.format(host, person.display)
            raise Refused(said, 403, f"{person.id} is in no group of OIDC_GROUPS")
        return person

    def _go_on(self, request: web.Request, to: str) -> web.Response:
        """A page that leads to this one, so that the browser brings its cookie along."""
        return _answer(page("entering.html", to=f"{self.sign_in.address(request)}{to}"), 200)

    def _away(self, away: ProviderAway) -> Refused:
        said = f"{self.sign_in.provider.host} does not answer, so nobody can sign in. Try again in a minute."
        return Refused(said, AWAY, f"the provider is away: {away}")

    def _refuse(self, request: web.Request, refused: Refused, to: str = "/", left: str = "") -> web.Response:
        """The page that says why, with ways on: to sign in again or by another account, or out at the provider."""
        logger.warning("a sign-in failed", extra={"why": refused.why})
        return self._page(request, to, refused.said, refused.status, left)

    def _page(self, request: web.Request, to: str, said: str = "", status: int = 200, left: str = "") -> web.Response:
        html = page(
            "sign_in.html",
            begin=f"{BEGIN}?to={quote(to, safe='/')}",
            host=self.sign_in.provider.host,
            said=said,
            refused=bool(said) and status != AWAY,
            left=left,
            theme=theme_of(request),
        )
        return _answer(html, status)


def _is_same(state: str, given: str) -> bool:
    return hmac.compare_digest(state.encode(), given.encode(errors="surrogatepass"))


def _target(to: str) -> str:
    """The page of this site to go to after the sign-in; the first one in the place of another site's."""
    return local_path(to) if len(to) <= MAX_TARGET else "/"


def _answer(html: str, status: int) -> web.Response:
    return web.Response(text=html, content_type="text/html", status=status, headers={"Cache-Control": "no-store"})
