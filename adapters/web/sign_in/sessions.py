"""Who is signed in: sessions of twelve hours, and the attempts to sign in that this browser has begun."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from aiohttp import web

from adapters.web.identity import SignedCookie, Visitor, new_visitor
from agent_core.errors import DatabaseAway, NotFound
from agent_core.model.origin import Actor
from agent_core.service.housekeeping.accounts import Accounts

SESSION_SECONDS = 12 * 3600  # from the sign-in, however often the page is used: groups are read at a sign-in only
ATTEMPT_SECONDS = 600
ENTER = "/enter"
BEGIN, CALLBACK = f"{ENTER}/begin", f"{ENTER}/callback"
OPEN_TO_STRANGERS = (ENTER, BEGIN, CALLBACK)


class ProviderAway(Exception):
    """The provider gave no usable answer; a later attempt may succeed."""


class NotTrusted(Exception):
    """What the provider or the browser brought proves nobody's identity; the text says why, to the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """A sign-in that has begun: `url` leads to the provider, the rest stays in the browser until it comes back."""

    url: str
    state: str
    nonce: str
    verifier: str


class Provider(Protocol):
    """A provider of accounts, where Signoff is registered."""

    @property
    def host(self) -> str:
        """Its host, as people know it."""

    async def begin(self, redirect_uri: str, *, asks_which: bool = False) -> SignInAttempt:
        """Begin a sign-in, after which the provider sends the browser to `redirect_uri`; raise ProviderAway.

        `asks_which`: the provider lets people choose the account, also where it knows one.
        """

    async def finish(self, code: str, redirect_uri: str, nonce: str, verifier: str) -> Actor:
        """The person for whom the provider gave the code; raise ProviderAway or NotTrusted."""

    async def sign_out_address(self) -> str:
        """Where people end their session at the provider too; "" if it has no such page, or is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSignIn:
    """Lets people in by their accounts. `secret` signs the cookies. `accounts`: None while no database is there."""

    provider: Provider
    secret: str = field(repr=False)
    secure: bool
    public_url: str = ""
    accounts: Accounts | None = None

    @property
    def session_cookie(self) -> SignedCookie:
        return self._cookie("session", SESSION_SECONDS)

    @property
    def attempt_cookie(self) -> SignedCookie:
        """Lax, or else the browser would not bring it along when the provider sends it back."""
        return replace(self._cookie("attempt", ATTEMPT_SECONDS), same_site="Lax")

    def _cookie(self, what: str, seconds: int) -> SignedCookie:
        return SignedCookie(
            base_name=f"signoff_{what}",
            salt=f"signoff {what}",
            seconds=seconds,
            secret=self.secret,
            secure=self.secure,
        )

    def callback(self, request: web.Request) -> str:
        """The address to which the provider sends people back."""
        return f"{self.address(request)}{CALLBACK}"

    def address(self, request: web.Request) -> str:
        """The page's address; without PUBLIC_URL the one on this machine that the browser has used."""
        return self.public_url or f"http://{request.headers['Host']}"

    async def learn(self, person: Actor) -> bool:
        """Keep what the provider says of a person, for all their sessions; return whether they may come in.

        Raise DatabaseAway.
        """
        if self.accounts is None:
            raise DatabaseAway
        return await self.accounts.save(person)

    def start(self, person: Actor, response: web.StreamResponse) -> None:
        """Start a new session of this person in the browser that gets the response."""
        self.session_cookie.put(response, [person.id, secrets.token_hex(16)])

    async def visitor(self, request: web.Request, has_ended: Callable[[str], Awaitable[bool]]) -> Visitor:
        """The person of the session, with the rights of their last sign-in anywhere; else a stranger.

        `has_ended` says of a session whether its person signed out of it. Raise DatabaseAway: nobody knows who it is.
        """
        match self.session_cookie.read(request):
            case [person_id, session]:
                pass
            case _:
                return new_visitor()
        if self.accounts is None:
            raise DatabaseAway
        try:
            person = await self.accounts.find(person_id)
        except NotFound:
            return new_visitor()
        return new_visitor() if await has_ended(session) else Visitor(person, has_entered=True, session=session)
