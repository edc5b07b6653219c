"""What the pages of the local workspace share: the services, the frame of a page, the model's label, error pages."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from adapters.typed.actions import ActionDispatcher
from adapters.typed.agent_templates import AgentTemplates, load_templates
from adapters.web import identity
from adapters.web.fault_page import fault_page, parent_page
from adapters.web.forms import typed_text
from adapters.web.guard import Guard, Handler
from adapters.web.inbox.last_decisions import LastDecisions
from adapters.web.pages.card_html import CardHtml
from adapters.web.render import page
from adapters.web.requests import channel_of, is_own, read_form
from adapters.web.surface import Hub
from adapters.web.theme import THEMES, theme_of
from agent_core.errors import CommandError, Conflict, DatabaseAway, InvalidInput, NotAllowed, NotFound, PersonError
from agent_core.model.agent import ARCHIVED, Agent, Headcount, Paused
from agent_core.model.command import RISK_CLASSES
from agent_core.model.draft import EFFORTS
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.documents import HtmlRenderer
from agent_core.ports.models import LanguageModel, NewestCall
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.agents import AgentService
from agent_core.service.creating.drafting import AgentDrafting
from agent_core.service.creating.tour import TourStarter
from agent_core.service.memories import AgentMemories
from agent_core.service.reading.views import AgentViews
from agent_core.service.standing_rules import StandingRules
from agent_core.service.uploads import FileUploads

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
MAX_SHOWN_PATH = 200
GENERAL = ChannelScope("web", identity.WORKSPACE, "general")


@dataclass(frozen=True, slots=True)
class ModelLabel:
    """The model's label on every page; `setup` tells the operator how to configure another model.

    `checked`: what the check at the start found wrong, shown until the first call of the model. After it the `newest`
    call says whether the endpoint can be reached.

    It is read from the model each time: an endpoint that is away at the start names its model later.
    `memory` has notes on how memories are searched.
    """

    model: LanguageModel
    setup: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    newest: NewestCall = field(default_factory=NewestCall)

    @property
    def label(self) -> str:
        return self.model.label

    @property
    def hints(self) -> tuple[str, ...]:
        fault = self.newest.fault
        return (*self.setup, *(self.checked if fault is None else (fault,) if fault else ()))


@dataclass(slots=True, kw_only=True)
class WebContext:
    """The services and settings that every page of the local workspace needs, and the frame of a page.

    `count_workers`: the number of processes that advance agents; `is_stopping`: whether the last one is stopping.
    """

    actions: ActionDispatcher
    service: AgentService
    views: AgentViews
    agent_settings: AgentSettings
    rules: StandingRules
    memories: AgentMemories
    drafting: AgentDrafting
    uploads: FileUploads
    tour: TourStarter
    hub: Hub
    guard: Guard
    clock: Clock
    model_label: ModelLabel
    renderer: HtmlRenderer
    count_workers: Callable[[], int] = lambda: 1
    is_stopping: Callable[[], bool] = lambda: False
    templates: AgentTemplates = field(default_factory=load_templates)
    last_decisions: LastDecisions = field(init=False)
    card_html: CardHtml = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "last_decisions", LastDecisions(self.views, self.clock))
        object.__setattr__(self, "card_html", CardHtml(self.renderer))

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
        """Render a full page (navigation and template), and set the cookie that remembers the person.

        Rendered in a thread: a page with long texts takes seconds, in which others are served.
        """
        census = await self.views.census()
        shown: ChannelScope | None = values.get("channel")
        agents = await self.views.agents(shown) if shown else ()
        person = identity.person_of(request)
        waiting = await self.list_waiting_for(person, census)
        draw = partial(
            page,
            template,
            agents=agents,
            has_agents=bool(census),
            archived=sum(each.number for each in census if (each.channel, each.status) == (shown, ARCHIVED)),
            channels=_channels(census, shown, waiting),
            asking=len(waiting),
            to_approve=sum(not isinstance(each.status, Paused) for each in waiting),
            finished=await self.views.queue.find_finished(person, "web"),
            person=person,
            model_label=self.model_label,
            has_workers=self.count_workers() > 0,
            is_stopping=self.is_stopping(),
            now=self.clock.now(),
            continuous_limit=self.service.decisions.continuous_limit,
            risk_classes=RISK_CLASSES,
            retention=self.views.retention,
            efforts=EFFORTS,
            offers_tour=self.tour.is_offered,
            theme=theme_of(request),
            is_demo=self.agent_settings.rehearsal is not None,
            provider=self.guard.sign_in.provider.host if self.guard.sign_in else "",
            **{"said": "", "channel": None, "agent": None, "themes": THEMES, **values},
        )
        response = web.Response(text=await self.card_html.draw(draw), content_type="text/html", status=status)
        response.headers["Cache-Control"] = "no-store"
        if not identity.is_sent_by_script(request):
            self.guard.remember(response, identity.visitor_of(request))
        return response

    async def record_showings(self, request: web.Request, turns: Iterable[tuple[ChannelScope, Turn]]) -> None:
        """Record for each open proposal of the local workspace that the page which was drawn shows it to the person.

        What cannot be saved now is recorded when the page is next served.
        """
        for channel, turn in turns:
            if turn.state == "proposed" and is_own(channel) and request.method != "HEAD":
                with suppress(Conflict, DatabaseAway, NotFound):
                    origin = Origin(by=identity.person_of(request), channel=channel)
                    await self.service.decisions.record_showing(turn, origin)

    async def list_waiting_for(self, person: Actor, census: Sequence[Headcount]) -> tuple[Agent, ...]:
        """The local workspace's agents that wait for this person, longest waiting first."""
        waiting = (count.channel for count in census if count.status in ("awaiting", "paused", "acting"))
        return await self.views.queue.list_agents(person, [channel for channel in waiting if is_own(channel)])

    async def enter(self, request: web.Request, *, to: str, said: str = "", status: int = 200) -> web.Response:
        """The page that asks for the token; it shows no agents."""
        html = page("enter.html", to=to, said=said, theme=theme_of(request))
        return web.Response(text=html, content_type="text/html", status=status)

    async def turn_away(self, request: web.Request, said: str, status: int, kept: str = "") -> web.Response:
        """A page that says why a request was refused and returns what the person wrote."""
        heading = "Not done" if request.method == "POST" else "Not found" if status == 404 else "Not shown"
        back = parent_page(request)
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
                return await self._answer_refusals(request, handler)
            except web.HTTPException:
                raise
            except DatabaseAway as away:  # the outage is logged once, by the database
                return fault_page(request, away)
            except Exception as error:
                logger.exception("request failed", extra={"path": request.path})
                return fault_page(request, error)

        return handle

    async def _answer_refusals(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except (PersonError, CommandError, web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            is_lost = isinstance(error, web.HTTPException)
            said = f"There is no page at {request.path[:MAX_SHOWN_PATH]}." if is_lost else str(error)
            status = 404 if is_lost else _status(error)
            if not request.get(identity.ADMITTED):  # a stranger gets neither the frame of the page nor a cookie
                return web.Response(text=f"{said}\n", status=status)
            return await self.turn_away(request, said, status, "" if is_lost else typed_text(read_form(request)))


def _channels(
    census: Sequence[Headcount], shown: ChannelScope | None, waiting: Sequence[Agent]
) -> list[tuple[ChannelScope, int]]:
    """The channels, each with how many agents need approval there: of this person, on another surface for its team."""
    asking = dict.fromkeys([GENERAL, *(count.channel for count in census), *([shown] if shown else [])], 0)
    for count in census:
        asking[count.channel] += count.number if count.status == "awaiting" and not is_own(count.channel) else 0
    for agent in waiting:
        asking[agent.channel] += not isinstance(agent.status, Paused)
    return list(asking.items())


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
