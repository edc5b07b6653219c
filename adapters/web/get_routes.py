"""GET routes: pages, files, and the event stream. Read-only."""

from dataclasses import dataclass
from functools import partial

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from adapters.forms import fields_of
from adapters.settings_file import FILENAME, settings_text
from adapters.web.decision_log import LogPages
from adapters.web.memory import MemoryPages
from adapters.web.page_context import GENERAL, STATIC, WebContext
from adapters.web.requests import AGENT, CHANNEL, agent_id_of, channel_of, download, redirect_from_form
from adapters.web.screens import FormState, channel_page, new_agent_page, thread_page
from adapters.web.urls import local_path
from agent_core.model.ids import TurnId


@dataclass(frozen=True, slots=True)
class GetRoutes:
    """One handler for each page."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef | web.StaticDef]:
        return [
            web.get("/", self.list_waiting),
            web.get("/enter", self.enter),
            web.get("/events", self.events),
            web.static("/static", STATIC, append_version=True),
            web.get(CHANNEL, partial(channel_page, self.workspace)),
            web.get(f"{CHANNEL}/new", self.new),
            web.get(f"{CHANNEL}/{{form:import|budget}}", redirect_from_form),
            web.get(AGENT, partial(thread_page, self.workspace)),
            web.get(f"{AGENT}/t/{{turn}}", self.turn),
            web.get(f"{AGENT}/{{form:goals|budget|say|press|add-file}}", redirect_from_form),
            web.get(f"{AGENT}/{FILENAME}", self.settings),
            web.get(f"{AGENT}/files/{{path:.+}}", self.file),
            *MemoryPages(self.workspace).get_routes(),
            *LogPages(self.workspace).routes(),
        ]

    async def list_waiting(self, request: web.Request) -> web.StreamResponse:
        """All agents that wait for a decision, in all channels."""
        waiting = await self.workspace.views.list_waiting()
        return await self.workspace.answer(request, "waiting.html", waiting=waiting, general=GENERAL)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        return await self.workspace.enter(to=local_path(request.query.get("to", "/")))

    async def new(self, request: web.Request) -> web.StreamResponse:
        """The form for a new agent; `?last` fills in the channel's last settings."""
        last = await self.workspace.service.load_agent_defaults(self.workspace.origin(request))
        given = fields_of(last) if last and "last" in request.query else {}
        return await new_agent_page(self.workspace, request, FormState(given), last=last)

    async def turn(self, request: web.Request) -> web.StreamResponse:
        channel, views = channel_of(request), self.workspace.views
        agent, turn = await views.turn(channel, TurnId(request.match_info["turn"]))
        return await self.workspace.answer(request, "turn.html", channel=channel, agent=agent, turn=turn)

    async def file(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        data = await self.workspace.views.file(channel_of(request), agent_id_of(request), path)
        return download(data, path.rpartition("/")[2])

    async def settings(self, request: web.Request) -> web.StreamResponse:
        """Download the agent as ai_settings.yaml."""
        agent = await self.workspace.views.agent(channel_of(request), agent_id_of(request))
        return download(settings_text(agent).encode(), FILENAME)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the id of each agent that changed, and a heartbeat."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        try:
            await response.write(b"retry: 1000\n\n")
            async for changed in self.workspace.hub.changes():
                await response.write(f"event: {'changed' if changed else 'beat'}\ndata: {changed or ''}\n\n".encode())
        except ClientConnectionResetError:
            pass
        return response
