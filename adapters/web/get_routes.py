"""GET routes: the list of all of them, and handlers for token, new agent, turn, settings file and event stream."""

from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from adapters.typed.agent_templates import AgentTemplate
from adapters.typed.form_values import fields_of
from adapters.typed.settings_file import FILENAME, settings_text
from adapters.typed.subcommands import copied_text
from adapters.web.guard import SIGN_OUT
from adapters.web.inbox.stopping import STOP_ALL
from adapters.web.inbox.waiting import APPROVE, queue_page, redirect_home
from adapters.web.page_context import STATIC, WebContext
from adapters.web.pages.decision_log import LogPages
from adapters.web.pages.file_pages import FilePages
from adapters.web.pages.form_pages import FormState, channel_page, new_agent_page, thread_page
from adapters.web.pages.glance import GlancePages
from adapters.web.pages.memory import MemoryPages
from adapters.web.pages.operations import OperationsPage
from adapters.web.pages.policy_pages import ChannelPolicyPage, PolicyPage, RulesPage
from adapters.web.pages.prompt_page import PromptPage
from adapters.web.pages.schedule_page import SchedulePage
from adapters.web.pages.search import SearchPages
from adapters.web.pages.tools import ToolPage
from adapters.web.render import page
from adapters.web.requests import (
    AGENT,
    CHANNEL,
    agent_id_of,
    channel_of,
    download,
    is_own,
    is_still_admitted,
    redirect_from_form,
)
from adapters.web.sign_in.routes import SignInRoutes
from adapters.web.urls import local_path
from agent_core.model.ids import AgentId, TurnId


@dataclass(frozen=True, slots=True)
class GetRoutes:
    """One handler for each page."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef | web.StaticDef]:
        guard = self.workspace.guard
        return [
            web.get("/", self.list_waiting),
            web.get(APPROVE, redirect_home),
            web.get(STOP_ALL, redirect_home),
            *(SignInRoutes(sign_in).routes() if (sign_in := guard.sign_in) else [web.get("/enter", self.enter)]),
            web.get("/events", self.events),
            web.get("/theme", redirect_home),
            web.get(SIGN_OUT, redirect_home),
            web.static("/static", STATIC, append_version=True),
            web.get(CHANNEL, partial(channel_page, self.workspace)),
            web.get(f"{CHANNEL}/new", self.new),
            web.get(f"{CHANNEL}/{{form:import|draft|budget|tour}}", redirect_from_form),
            web.get(AGENT, partial(thread_page, self.workspace)),
            web.get(f"{AGENT}/t/{{turn}}", self.turn),
            web.get(f"{AGENT}/{{form:goals|model|budget|say|press|add-file|archive|unarchive}}", redirect_from_form),
            web.get(f"{AGENT}/{FILENAME}", self.settings),
            *FilePages(self.workspace).get_routes(),
            *MemoryPages(self.workspace).get_routes(),
            *LogPages(self.workspace).routes(),
            *GlancePages(self.workspace).routes(),
            *PolicyPage(self.workspace).get_routes(),
            *ChannelPolicyPage(self.workspace).get_routes(),
            *ToolPage(self.workspace).get_routes(),
            *RulesPage(self.workspace).get_routes(),
            *SchedulePage(self.workspace).get_routes(),
            *SearchPages(self.workspace).routes(),
            *OperationsPage(self.workspace).routes(),
            *PromptPage(self.workspace).get_routes(),
        ]

    async def list_waiting(self, request: web.Request) -> web.StreamResponse:
        """What waits for this person in all channels: proposals first, then paused agents."""
        return await queue_page(self.workspace, request)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """The form for the token. Where the key is in the address, the address without it, which links can build on."""
        if not self.workspace.guard.token:  # a page, as after a redirect from a file the browser sends no Strict cookie
            html = page("entering.html", to=f"{request.scheme}://{request.headers['Host']}/")
            return web.Response(text=html, content_type="text/html")
        return await self.workspace.enter(request, to=local_path(request.query.get("to", "/")))

    async def new(self, request: web.Request) -> web.StreamResponse:
        """The form for a new agent.

        `?last` fills in the last settings here, `?template=KEY` a ready-made agent, `?copy=ID` those of an agent.
        """
        if "copy" in request.query:
            return await self._copy(request, AgentId(request.query["copy"]))
        last = await self.workspace.service.lifecycle.load_agent_defaults(self.workspace.origin(request))
        chosen = self.workspace.templates.find(request.query.get("template", ""))
        if chosen:
            return await self._fill_in(request, chosen)
        draft = last if "last" in request.query else None
        return await new_agent_page(self.workspace, request, FormState(fields_of(draft) if draft else {}), last=last)

    async def _fill_in(self, request: web.Request, template: AgentTemplate) -> web.StreamResponse:
        name = await self.workspace.views.find_free_name(channel_of(request), template.draft.name)
        said = f"Filled in from the template “{template.label}”. Nothing is created yet."
        draft = replace(template.draft, name=name)
        return await new_agent_page(self.workspace, request, FormState(fields_of(draft)), filled_in=said)

    async def _copy(self, request: web.Request, agent_id: AgentId) -> web.StreamResponse:
        origin = self.workspace.own(request)
        draft = await self.workspace.service.lifecycle.draft_copy(agent_id, origin)
        said = copied_text(await self.workspace.views.agent(origin.channel, agent_id), draft)
        return await new_agent_page(self.workspace, request, FormState(fields_of(draft)), filled_in=said)

    async def turn(self, request: web.Request) -> web.StreamResponse:
        channel, views = channel_of(request), self.workspace.views
        agent, turn = await views.turn(channel, TurnId(request.match_info["turn"]))
        return await self.workspace.answer(
            request, "turn.html", channel=channel, agent=agent, turn=turn, is_own=is_own(channel)
        )

    async def settings(self, request: web.Request) -> web.StreamResponse:
        """Download the agent as ai_settings.yaml."""
        agent = await self.workspace.views.agent(channel_of(request), agent_id_of(request))
        return download(settings_text(agent).encode(), FILENAME)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the id of each agent that changed, and a heartbeat; they end with the session."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        with suppress(ClientConnectionResetError):
            await response.write(b"retry: 1000\n\n")
            async with aclosing(self.workspace.hub.changes()) as changes:
                async for changed in changes:
                    if not await is_still_admitted(request):
                        break
                    event = f"event: {'changed' if changed else 'beat'}\ndata: {changed or ''}\n\n"
                    await response.write(event.encode())
        return response
