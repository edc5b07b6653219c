"""The visitor of the page: the signed cookie with their id and name, and the person whom they are in the core.

Who somebody is stands in a signed cookie that ends. The browser sends cookies to every port of the host, so the cookie
alone opens nothing: the guard asks for the key of the address, or the token, as well. Where people sign in with
accounts, their sessions (`adapters/web/sign_in`) take the place of it.
"""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from aiohttp import web
from itsdangerous import BadData, URLSafeTimedSerializer

from agent_core.model.origin import Actor

WORKSPACE = "local"
MAX_NAME_CHARACTERS = 40
SKEW_SECONDS = 120  # by which the clocks of two machines may differ
COOKIE_SECONDS = 365 * 24 * 3600  # renewed with each page


@dataclass(frozen=True, slots=True)
class Visitor:
    """The person at a browser. `has_entered`: they typed the token there, or signed in.

    `session`: of a person who signed in, what ends when they sign out.
    """

    person: Actor
    has_entered: bool = False
    session: str = ""

    @property
    def ended_by(self) -> str:
        """What a sign-out ends: this session of an account, or the person that a browser alone knows."""
        return self.session or self.person.id


VISITOR = web.RequestKey("visitor", Visitor)
CHECK_AGAIN: web.RequestKey[Callable[[], Awaitable[Visitor]]] = web.RequestKey("check again")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedCookie:
    """A cookie with a few texts, signed with `secret`, which ends `seconds` after it was set.

    `salt` says what it is for: none is taken for another one. `secure`: the page is served over HTTPS only.
    """

    base_name: str
    salt: str
    seconds: int
    secret: str = field(repr=False)
    secure: bool
    same_site: Literal["Strict", "Lax"] = "Strict"

    @property
    def name(self) -> str:
        """With HTTPS, a name that browsers keep to this host and to the whole site."""
        return f"__Host-{self.base_name}" if self.secure else self.base_name

    def read(self, request: web.Request) -> list[str]:
        """The texts; none where the cookie is missing, forged or old.

        Another process may have signed it, whose clock is ahead; itsdangerous would call it expired then.
        """
        try:
            texts, signed_at = self._serializer.loads(request.cookies.get(self.name, ""), return_timestamp=True)
            is_valid = -SKEW_SECONDS <= time.time() - signed_at.timestamp() <= self.seconds
            return [str(each) for each in texts] if is_valid else []
        except (BadData, ValueError, TypeError):
            return []

    def put(self, response: web.StreamResponse, texts: Sequence[str]) -> None:
        response.set_cookie(
            self.name,
            str(self._serializer.dumps(list(texts))),
            max_age=self.seconds,
            httponly=True,
            samesite=self.same_site,
            path="/",
            secure=self.secure,
        )

    def forget(self, response: web.StreamResponse) -> None:
        response.del_cookie(self.name, path="/", secure=self.secure, samesite=self.same_site, httponly=True)

    @property
    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.secret, salt=self.salt)


def visitor_in(texts: Sequence[str]) -> Visitor:
    """The visitor whom a cookie names; a new one, with an id of their own, where it names nobody."""
    match texts:
        case [person_id, name, has_entered]:
            return Visitor(renamed(_stranger(person_id), name), has_entered == "entered")
        case _:
            return new_visitor()


def texts_of(visitor: Visitor) -> list[str]:
    """What the cookie of a browser holds, in which nobody signs in with an account."""
    return [visitor.person.id, visitor.person.display, "entered" if visitor.has_entered else ""]


def new_visitor() -> Visitor:
    """A visitor with an id of their own, whom nobody can have met."""
    return Visitor(_stranger(secrets.token_hex(16)))


def _stranger(person_id: str) -> Actor:
    return Actor(id=person_id, display=f"Visitor-{person_id[:4]}", workspace=WORKSPACE)


def visitor_of(request: web.Request) -> Visitor:
    """The visitor whom the guard read from the request's cookie."""
    return request[VISITOR]


def person_of(request: web.Request) -> Actor:
    """The person of this browser; a new one gets an id and a name that they can change."""
    return request[VISITOR].person


def is_sent_by_script(request: web.Request) -> bool:
    """Whether the page's script asked, not the browser: a late answer to it must not undo a new name in the cookie."""
    return request.headers.get("HX-Request") == "true"


def renamed(person: Actor, name: str) -> Actor:
    """The person with a new name without special characters; unchanged if no characters are left."""
    tidy = " ".join(re.sub(r"[^\w\s.'-]", "", name).split())[:MAX_NAME_CHARACTERS].strip()
    return replace(person, display=tidy or person.display)
