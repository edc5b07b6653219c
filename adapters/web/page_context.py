"""What the pages of the local workspace share: their context, the page frame and error pages."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapters.actions import ActionDispatcher
from adapters.fault_text import fault_text
from adapters.web import identity
from adapters.web.forms import typed_text
from adapters.web.guard import Guard, Handler
from adapters.web.render import channel_path, page
from adapters.web.requests import channel_of, is_own, read_form
from adapters.web.surface import Hub
from agent_core.errors import CommandError, InvalidInput, NotAllowed, NotFound, PersonError
from agent_core.model.actors import Origin
from agent_core.model.agent import Headcount
from agent_core.model.channels import ChannelScope
from agent_core.model.command import RISK_CLASSES
from agent_core.model.draft import EFFORTS
from agent_core.ports.clock import Clock
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.agents import AgentService
from agent_core.service.memories import AgentMemories
from agent_core.service.uploads import FileUploads
from agent_core.service.views import AgentViews

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
MAX_SHOWN_PATH = 200
GENERAL = ChannelScope("web", identity.WORKSPACE, "general")


@dataclass(frozen=True, slots=True)
class ModelLabel:
    """The model's label on every page; `hints` tell the operator how to configure another model.

    `memory` has notes on how memories are searched and tokens are counted.
    """

    label: str
    hints: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class WebContext:
    """The services and settings that every page of the local workspace needs, and the frame of a page."""

    actions: ActionDispatcher
    service: AgentService
    views: AgentViews
    agent_settings: AgentSettings
    memories: AgentMemories
    uploads: FileUploads
    hub: Hub
    guard: Guard
    clock: Clock
    model_label: ModelLabel

    def origin(self, request: web.Request) -> Origin:
        """The person of a request and the channel in its URL."""
        return Origin(by=identity.person_of(request), channel=channel_of(request))

    def own(self, request: web.Request) -> Origin:
        """The `origin` of a request that changes something; raise NotAllowed for a channel of another surface."""
        origin = self.origin(request)
        if not is_own(origin.channel):
            raise NotAllowed(f"decide here: its team decides on {origin.channel.surface.title()}.")
        return origin

    async def answer(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """Render a full page (navigation and template), and set the cookie that remembers the person."""
        census = await self.views.census()
        shown: ChannelScope | None = values.get("channel")
        agents = await self.views.agents(shown) if shown else ()
        person = identity.person_of(request)
        html = page(
            template,
            agents=agents,
            has_agents=bool(census),
            channels=_channels(census, shown),
            asking=sum(count.number for count in census if count.status == "awaiting"),
            person=person,
            model_label=self.model_label,
            now=self.clock.now(),
            continuous_limit=self.service.continuous_limit,
            risk_classes=RISK_CLASSES,
            efforts=EFFORTS,
            **{"said": "", "channel": None, "agent": None, **values},
        )
        response = web.Response(text=html, content_type="text/html", status=status)
        response.headers["Cache-Control"] = "no-store"
        identity.remember(response, person, secure=self.guard.is_secure)
        return response

    async def enter(self, *, to: str, said: str = "", status: int = 200) -> web.Response:
        """The page that asks for the token; it shows no agents."""
        return web.Response(text=page("enter.html", to=to, said=said), content_type="text/html", status=status)

    async def turn_away(self, request: web.Request, said: str, status: int, kept: str = "") -> web.Response:
        """A page that says why a request was refused and returns what the person wrote."""
        heading = "Not done" if request.method == "POST" else "Not found" if status == 404 else "Not shown"
        back = _back(request)
        return await self.answer(
            request, "refused.html", status=status, heading=heading, said=said, kept=kept, back=back
        )

    def error_pages(self, paths: Callable[[str], bool]) -> Middleware:
        """Middleware that turns errors into pages that say what to do; of HTTP errors only 404 and 405."""

        @web.middleware
        async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not paths(request.path):
                return await handler(request)
            try:
                return await handler(request)
            except (PersonError, CommandError) as error:
                return await self.turn_away(request, str(error), _status(error), typed_text(read_form(request)))
            except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
                return await self.turn_away(request, f"There is no page at {request.path[:MAX_SHOWN_PATH]}.", 404)
            except web.HTTPException:
                raise
            except Exception as error:
                logger.exception("request failed", extra={"path": request.path})
                return await self.turn_away(request, fault_text(error), 500, typed_text(read_form(request)))

        return handle


def _channels(census: Sequence[Headcount], shown: ChannelScope | None) -> list[tuple[ChannelScope, int]]:
    asking = dict.fromkeys([GENERAL, *(count.channel for count in census), *([shown] if shown else [])], 0)
    for count in census:
        asking[count.channel] += count.number if count.status == "awaiting" else 0
    return list(asking.items())


def _back(request: web.Request) -> str:
    """The nearest page above the request's own: of the agent, of the channel, or the home page."""
    try:
        channel = channel_path(channel_of(request))
    except (KeyError, web.HTTPNotFound):
        return "/"
    pages = [f"{channel}/a/{agent}"] if (agent := request.match_info.get("agent")) else []
    return next((page for page in [*pages, channel] if page != request.path), "/")


def _status(error: Exception) -> int:
    match error:
        case NotFound() | CommandError():
            return 404
        case NotAllowed():
            return 403
        case InvalidInput():
            return 422
        case _:
            return 409
