"""The visitor of the page: the signed cookie with their id and name, and the person whom they are in the core.

Who somebody is stands in a signed cookie that ends. The browser sends cookies to every port of the host, so the cookie
alone opens nothing: the guard asks for the key of the address, or the token, as well.
"""

import re
import secrets
from dataclasses import dataclass, replace

from aiohttp import web
from itsdangerous import BadData, URLSafeTimedSerializer

from agent_core.model.origin import Actor

WORKSPACE = "local"
MAX_NAME_CHARACTERS = 40
COOKIE_SECONDS = 365 * 24 * 3600  # renewed with each page


@dataclass(frozen=True, slots=True)
class Visitor:
    """The person at a browser. `has_entered`: they typed the token there."""

    person: Actor
    has_entered: bool = False


VISITOR = web.RequestKey("visitor", Visitor)


@dataclass(frozen=True, slots=True)
class VisitorCookie:
    """Reads and sets the cookie, which is signed with `secret`. `secure`: the page is served over HTTPS only."""

    secret: str
    secure: bool = False

    @property
    def name(self) -> str:
        """With HTTPS, a name that browsers keep to this host and to the whole site."""
        return "__Host-signoff" if self.secure else "signoff"

    def read(self, request: web.Request) -> Visitor:
        """The visitor that the cookie names; a new one, with an id of their own, where it is missing, forged or old."""
        try:
            read = self._serializer.loads(request.cookies.get(self.name, ""), max_age=COOKIE_SECONDS)
            person_id, name, has_entered = map(str, read)
        except (BadData, ValueError, TypeError):
            return new_visitor()
        return Visitor(renamed(_stranger(person_id), name), has_entered == "entered")

    def remember(self, response: web.StreamResponse, visitor: Visitor) -> None:
        """Set the cookie, with SameSite=Strict."""
        entered = "entered" if visitor.has_entered else ""
        signed = self._serializer.dumps([visitor.person.id, visitor.person.display, entered])
        response.set_cookie(
            self.name,
            str(signed),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="Strict",
            path="/",
            secure=self.secure,
        )

    def forget(self, response: web.StreamResponse) -> None:
        response.del_cookie(self.name, path="/", secure=self.secure, samesite="Strict", httponly=True)

    @property
    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.secret, salt="signoff visitor")


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
