"""The local workspace's routes and what they share."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapters.forms import Form
from adapters.intents import Intents
from adapters.web import people
from adapters.web.forms import kept_of
from adapters.web.guard import Guard, Handler
from adapters.web.render import page
from adapters.web.surface import Hub
from agent_core.errors import CommandError, InvalidInput, NotAllowed, NotFound, PersonError
from agent_core.model.agent import Headcount
from agent_core.model.command import RISK_CLASSES
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.people import Origin
from agent_core.model.places import ChannelScope
from agent_core.ports.world import Clock

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
GENERAL = ChannelScope("web", people.WORKSPACE, "general")


@dataclass(frozen=True, slots=True)
class Badge:
    """What answers agents, as every page says; `hint` is what an operator could do about it."""

    label: str
    hints: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Workspace:
    """What every page of the local workspace needs."""

    intents: Intents
    hub: Hub
    guard: Guard
    clock: Clock
    badge: Badge

    def origin(self, request: web.Request) -> Origin:
        """Who asks, in the channel the address names."""
        return Origin(by=people.person_of(request), channel=channel_of(request))

    async def answer(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """A whole page: the navigation with what waits, and the template's own part."""
        census = await self.intents.views.census()
        shown: ChannelScope | None = values.get("channel")
        agents = await self.intents.views.agents(shown) if shown else ()
        person = people.person_of(request)
        html = page(
            template,
            agents=agents,
            has_agents=bool(census),
            channels=_channels(census, shown),
            asking=sum(count.number for count in census if count.status == "awaiting"),
            person=person,
            badge=self.badge,
            now=self.clock.now(),
            risk_classes=RISK_CLASSES,
            **{"said": "", "channel": None, "agent": None, **values},
        )
        response = web.Response(text=html, content_type="text/html", status=status)
        response.headers["Cache-Control"] = "no-store"
        people.remember(response, person, secure=self.guard.is_secure)
        return response

    async def new_agent(
        self,
        request: web.Request,
        *,
        given: Form,
        problems: Mapping[str, str] | None = None,
        last: AgentDraft | None = None,
    ) -> web.Response:
        """The form of a new agent as it was filled in, with what is wrong beside each field."""
        values = {"given": given, "problems": problems or {}, "last": last, "channel": channel_of(request)}
        defaults = {"name": DEFAULT_NAME, "role": DEFAULT_ROLE}
        return await self.answer(request, "new.html", status=422 if problems else 200, defaults=defaults, **values)

    async def enter(self, request: web.Request, *, to: str, said: str = "", status: int = 200) -> web.Response:
        """The page that asks for the token; it shows nothing of anybody's agents."""
        return web.Response(text=page("enter.html", to=to, said=said), content_type="text/html", status=status)

    async def turn_away(self, request: web.Request, said: str, status: int, kept: str = "") -> web.Response:
        """A page that says why something was not done and gives back what was written."""
        return await self.answer(request, "refused.html", status=status, said=said, kept=kept, back=_back(request))

    def telling(self, paths: Callable[[str], bool]) -> Middleware:
        """What goes wrong with a request becomes a page that says what to do: the one place where faults end."""

        @web.middleware
        async def tell(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not paths(request.path):
                return await handler(request)
            try:
                return await handler(request)
            except (PersonError, CommandError) as error:
                return await self.turn_away(request, str(error), _status(error), await _written(request))
            except web.HTTPException:
                raise
            except Exception:
                logger.exception("request failed", extra={"path": request.path})
                said = "Something went wrong inside Signoff; the log says what. Nothing was decided. Try again."
                return await self.turn_away(request, said, 500, await _written(request))

        return tell


def channel_of(request: web.Request) -> ChannelScope:
    """The channel in the address; an unknown surface is not found."""
    parts = request.match_info
    try:
        return ChannelScope.parse(ChannelScope(parts["surface"], parts["workspace"], parts["channel"]).key)  # type: ignore[arg-type]
    except ValueError as unknown:
        raise web.HTTPNotFound(text="There is no such channel.\n") from unknown


def agent_id_of(request: web.Request) -> AgentId:
    """The agent in the address."""
    return AgentId(request.match_info["agent"])


def is_own(channel: ChannelScope) -> bool:
    """Whether this page decides there: a name anyone can type is nobody's account on another surface."""
    return channel.surface == "web"


def _channels(census: Sequence[Headcount], shown: ChannelScope | None) -> list[tuple[ChannelScope, int]]:
    asking = dict.fromkeys([GENERAL, *(count.channel for count in census), *([shown] if shown else [])], 0)
    for count in census:
        asking[count.channel] += count.number if count.status == "awaiting" else 0
    return list(asking.items())


def _back(request: web.Request) -> str:
    parts = request.match_info
    if "surface" not in parts:
        return "/"
    channel = f"/c/{channel_of(request).key}"
    return f"{channel}/a/{parts['agent']}" if "agent" in parts else channel


async def _written(request: web.Request) -> str:
    if request.method != "POST":
        return ""
    sent = await request.post()
    return kept_of({name: value for name, value in sent.items() if isinstance(value, str)})


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
