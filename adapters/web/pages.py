"""What people look at: pages, files, and the stream that says what changed. Nothing is changed here."""

from dataclasses import dataclass

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from adapters.forms import fields_of
from adapters.settings_file import FILENAME, settings_text
from adapters.web.app import GENERAL, STATIC, WebContext
from adapters.web.decision_log import LogPages
from adapters.web.memory import MemoryPages
from adapters.web.requests import AGENT, CHANNEL, agent_id_of, channel_of, download, one_up
from adapters.web.screens import FormState, channel_page, new_agent_page, thread_page
from adapters.web.urls import local_path
from agent_core.model.ids import TurnId


@dataclass(frozen=True, slots=True)
class Pages:
    """One handler for each page."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef | web.StaticDef]:
        """Every route that only shows."""
        return [
            web.get("/", self.list_waiting),
            web.get("/enter", self.enter),
            web.get("/events", self.events),
            web.static("/static", STATIC, append_version=True),
            web.get(CHANNEL, self.channel),
            web.get(f"{CHANNEL}/new", self.new),
            web.get(f"{CHANNEL}/{{form:import|budget}}", self.form),
            web.get(AGENT, self.thread),
            web.get(f"{AGENT}/t/{{turn}}", self.turn),
            web.get(f"{AGENT}/{{form:goals|budget|say|press}}", self.form),
            web.get(f"{AGENT}/{FILENAME}", self.settings),
            web.get(f"{AGENT}/files/{{path:.+}}", self.file),
            *MemoryPages(self.workspace).looking(),
            *LogPages(self.workspace).routes(),
        ]

    async def list_waiting(self, request: web.Request) -> web.StreamResponse:
        """What waits for a decision, everywhere."""
        waiting = await self.workspace.views.list_waiting()
        return await self.workspace.answer(request, "waiting.html", waiting=waiting, general=GENERAL)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Where the token is shown."""
        return await self.workspace.enter(to=local_path(request.query.get("to", "/")))

    async def channel(self, request: web.Request) -> web.StreamResponse:
        """The agents of a channel."""
        return await channel_page(self.workspace, request)

    async def new(self, request: web.Request) -> web.StreamResponse:
        """The form of a new agent, with the channel's last settings where asked for."""
        last = await self.workspace.service.load_offered_draft(self.workspace.origin(request))
        given = fields_of(last) if last and "last" in request.query else {}
        return await new_agent_page(self.workspace, request, FormState(given), last=last)

    async def thread(self, request: web.Request) -> web.StreamResponse:
        """An agent's thread: its newest turns, or those before one."""
        return await thread_page(self.workspace, request)

    async def turn(self, request: web.Request) -> web.StreamResponse:
        """One turn with everything it holds."""
        channel, views = channel_of(request), self.workspace.views
        agent, turn = await views.turn(channel, TurnId(request.match_info["turn"]))
        return await self.workspace.answer(request, "turn.html", channel=channel, agent=agent, turn=turn)

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file to keep; a browser never shows it as a page."""
        path = request.match_info["path"]
        data = await self.workspace.views.file(channel_of(request), agent_id_of(request), path)
        return download(data, path.rpartition("/")[2])

    async def settings(self, request: web.Request) -> web.StreamResponse:
        """The agent as AutoGPT's file."""
        agent = await self.workspace.views.agent(channel_of(request), agent_id_of(request))
        return download(settings_text(agent).encode(), FILENAME)

    async def form(self, request: web.Request) -> web.StreamResponse:
        """Where a form was sent to there is nothing to look at: what it stands on is shown."""
        return one_up(request)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the id of each agent that changed, and a beat in between."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        try:
            await response.write(b"retry: 1000\n\n")
            async for changed in self.workspace.hub.changes():
                await response.write(f"event: {'changed' if changed else 'beat'}\ndata: {changed or ''}\n\n".encode())
        except ClientConnectionResetError:
            pass
        return response
