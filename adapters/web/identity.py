"""The person at a browser, who chooses a name without a password and so may decide only in the local workspace."""

import re
import secrets
from urllib.parse import quote, unquote

from aiohttp import web

from agent_core.model.actors import Actor

COOKIE = "signoff_person"
PERSON = web.RequestKey("person", Actor)
WORKSPACE = "local"
MAX_NAME_CHARACTERS = 40
COOKIE_SECONDS = 365 * 24 * 3600


def person_of(request: web.Request) -> Actor:
    """The person of this browser; a new one gets an id and a name that they can change."""
    if PERSON not in request:
        request[PERSON] = _read(request.cookies.get(COOKIE, ""))
    return request[PERSON]


def remember(response: web.StreamResponse, person: Actor, *, secure: bool) -> None:
    """Store the person in a cookie with SameSite=Strict."""
    text = f"{person.id}:{quote(person.display)}"
    response.set_cookie(COOKIE, text, max_age=COOKIE_SECONDS, httponly=True, samesite="Strict", path="/", secure=secure)


def is_sent_by_script(request: web.Request) -> bool:
    """Whether the page's script asked, not the browser: a late answer to it must not undo a new name in the cookie."""
    return request.headers.get("X-Requested-With") == "fetch"


def renamed(person: Actor, name: str) -> Actor:
    """The person with a new name without special characters; unchanged if no characters are left."""
    tidy = " ".join(re.sub(r"[^\w\s.'-]", "", name).split())[:MAX_NAME_CHARACTERS].strip()
    return Actor(id=person.id, display=tidy or person.display, workspace=WORKSPACE)


def _read(cookie: str) -> Actor:
    person_id, _, name = cookie.partition(":")
    if not re.fullmatch(r"[0-9a-f]{32}", person_id):
        person_id, name = secrets.token_hex(16), ""
    stranger = Actor(id=person_id, display=f"Visitor-{person_id[:4]}", workspace=WORKSPACE)
    return renamed(stranger, unquote(name))
