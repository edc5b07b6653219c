"""The page for a request that failed through no fault of the person's: it keeps what they wrote, to send it again."""

from aiohttp import web

from adapters.screens.ui_text import fault_text
from adapters.web.forms import WRITTEN_FIELDS, sendable_again, typed_text
from adapters.web.render import channel_path, page
from adapters.web.requests import channel_of, read_form
from adapters.web.theme import theme_of
from agent_core.errors import CommitUnknown, DatabaseAway

RETRY_SECONDS = 2
BACK = "Signoff reaches its database again. Nothing was decided: try again."


def fault_page(request: web.Request, error: Exception) -> web.Response:
    """The sentence on the error, and what the person wrote: as a form to send again, or as text to copy.

    The status is 503 with Retry-After while the database is away, else 500. A page that was only to be shown reloads
    itself in the browser when the database is back.
    """
    form, is_away, is_post = read_form(request), isinstance(error, DatabaseAway), request.method == "POST"
    html = page(
        "fault.html",
        theme=theme_of(request),
        heading="Not done" if is_post else "Not shown",
        said=fault_text(error),
        passing=BACK if is_away and not isinstance(error, CommitUnknown) else "",
        fields=sendable_again(form),
        written=WRITTEN_FIELDS,
        kept=typed_text(form),
        action=request.rel_url.raw_path,
        back=parent_page(request),
        reloads=is_away and not is_post,
    )
    response = web.Response(text=html, content_type="text/html", status=503 if is_away else 500)
    response.headers["Cache-Control"] = "no-store"
    if is_away:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def parent_page(request: web.Request) -> str:
    """The nearest page above the request's own: of the agent, of the channel, or the home page."""
    try:
        channel = channel_path(channel_of(request))
    except (KeyError, web.HTTPNotFound):
        return "/"
    pages = [f"{channel}/a/{agent}"] if (agent := request.match_info.get("agent")) else []
    return next((page for page in [*pages, channel] if page != request.path), "/")
