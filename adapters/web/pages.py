"""What people look at: pages, files, and the stream that says what changed. Nothing is changed here."""

from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from adapters.forms import fields_of
from adapters.web.app import GENERAL, STATIC, Workspace, agent_id_of, channel_of, is_own
from adapters.web.listeners import AGENT, CHANNEL
from agent_core.model.agent import Thinking
from agent_core.model.ids import TurnId


@dataclass(frozen=True, slots=True)
class Pages:
    """One handler for each page."""

    workspace: Workspace

    def routes(self) -> list[web.RouteDef | web.StaticDef]:
        """Every route that only shows."""
        return [
            web.get("/", self.waiting),
            web.get("/enter", self.enter),
            web.get("/events", self.events),
            web.static("/static", STATIC, append_version=True),
            web.get(CHANNEL, self.channel),
            web.get(f"{CHANNEL}/new", self.new),
            web.get(AGENT, self.thread),
            web.get(f"{AGENT}/t/{{turn}}", self.turn),
            web.get(f"{AGENT}/audit", self.audit),
            web.get(f"{AGENT}/files/{{path:.+}}", self.file),
        ]

    async def waiting(self, request: web.Request) -> web.StreamResponse:
        """What waits for a decision, everywhere."""
        waiting = await self.workspace.intents.views.waiting()
        return await self.workspace.answer(request, "waiting.html", waiting=waiting, general=GENERAL)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Where the token is shown."""
        return await self.workspace.enter(request, to=request.query.get("to", "/"))

    async def channel(self, request: web.Request) -> web.StreamResponse:
        """The agents of a channel."""
        return await self.workspace.answer(request, "channel.html", channel=channel_of(request))

    async def new(self, request: web.Request) -> web.StreamResponse:
        """The form of a new agent, with the channel's last settings where asked for."""
        channel = channel_of(request)
        last = await self.workspace.intents.views.offered_draft(channel)
        given = fields_of(last) if last and "last" in request.query else {}
        return await self.workspace.new_agent(request, given=given, last=last)

    async def thread(self, request: web.Request) -> web.StreamResponse:
        """An agent's thread: its newest turns, or those before one."""
        channel, views = channel_of(request), self.workspace.intents.views
        before = request.query.get("before", "")
        number = int(before) if before.isascii() and before.isdigit() else None
        thread = await views.thread(channel, agent_id_of(request), before=number)
        return await self.workspace.answer(
            request,
            "thread.html",
            channel=channel,
            agent=thread.agent,
            thread=thread,
            files=await views.files(channel, thread.agent.id),
            can_decide=is_own(channel),
            is_newest=number is None,
            is_thinking=isinstance(thread.agent.status, Thinking),
            spec_of=views.spec,
        )

    async def turn(self, request: web.Request) -> web.StreamResponse:
        """One turn with everything it holds."""
        channel, views = channel_of(request), self.workspace.intents.views
        agent, turn = await views.turn(channel, TurnId(request.match_info["turn"]))
        return await self.workspace.answer(request, "turn.html", channel=channel, agent=agent, turn=turn)

    async def audit(self, request: web.Request) -> web.StreamResponse:
        """What people did to the agent."""
        channel, views = channel_of(request), self.workspace.intents.views
        agent = await views.agent(channel, agent_id_of(request))
        entries = await views.audit(channel, agent.id)
        return await self.workspace.answer(request, "audit.html", channel=channel, agent=agent, entries=entries)

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file to keep; a browser never shows it as a page."""
        path = request.match_info["path"]
        data = await self.workspace.intents.views.file(channel_of(request), agent_id_of(request), path)
        name = quote(path.rpartition("/")[2])
        return web.Response(
            body=data,
            content_type="application/octet-stream",
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
                "Content-Security-Policy": "default-src 'none'; sandbox",
                "Cache-Control": "no-store",
            },
        )

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
