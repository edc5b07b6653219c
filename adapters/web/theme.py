"""The theme that a browser chose, kept in a cookie: the server draws each page in it, and none flashes in another."""

from aiohttp import web

COOKIE = "signoff_theme"
THEMES = {"light": "Light", "dark": "Dark", "": "As the system"}
COOKIE_SECONDS = 365 * 24 * 3600


def theme_of(request: web.Request) -> str:
    """`light`, `dark`, or "" as the system."""
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in THEMES else ""


def remember_theme(response: web.StreamResponse, chosen: str, *, secure: bool) -> None:
    """Keep the choice in a cookie that static/page.js may change too; anything but a theme is as the system."""
    theme = chosen if chosen in THEMES else ""
    response.set_cookie(COOKIE, theme, max_age=COOKIE_SECONDS, samesite="Strict", path="/", secure=secure)
