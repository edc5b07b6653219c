"""The page *Tools and plugins* of a channel: shows plugins and tool servers, and switches them on and off here."""

from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from adapters.screens.ui_text import first_word
from adapters.typed.tool_settings import TOO_MANY, parse_tool_change
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import CHANNEL, channel_of, form_of, is_own, redirect_to

TOOLS, SWITCHED = f"{CHANNEL}/tools", "switched"


@dataclass(frozen=True, slots=True)
class ToolPage:
    """Shows the sources, and switches one of them or one command on or off."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(TOOLS, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(TOOLS, with_errors_shown(self.switch, self.page))]

    async def page(self, request: web.Request, asked: FormState = NOTHING) -> web.Response:
        channel = channel_of(request)
        here = await self.workspace.views.tools.of_channel(channel)
        switched = request.query.get(SWITCHED, "")
        return await self.workspace.answer(
            request,
            "tools.html",
            **asked.values,
            channel=channel,
            here=here,
            too_many=TOO_MANY,
            switched=switched if switched in here.names else "",
            is_switched_on=here.is_on(switched),
            can_switch=is_own(channel) and person_of(request).kind == "member",
        )

    async def switch(self, request: web.Request) -> web.StreamResponse:
        """Carry out a line such as `off word_counter`: the value of the button that was pressed."""
        form, origin = await form_of(request), self.workspace.own(request)
        said = form.get("switch", "")
        change = await parse_tool_change(self.workspace.views, said, origin)
        await self.workspace.agent_settings.set_tools(change, origin, said)
        return redirect_to(f"{request.rel_url.raw_path}?{urlencode({SWITCHED: first_word(said)[1]})}")
