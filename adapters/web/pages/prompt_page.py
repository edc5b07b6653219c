"""The page of a tool server's prompt: what it has to be told, and then the form for a new agent, filled in from it."""

from dataclasses import dataclass

from aiohttp import web

from adapters.screens.visible_text import visible
from adapters.typed.form_values import fields_of
from adapters.typed.prompt_drafts import PromptChoice, arguments_typed, fill_in
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, new_agent_page
from adapters.web.requests import CHANNEL, channel_of, check_again, form_of
from agent_core.errors import InvalidInput, NotPossible

PROMPT = f"{CHANNEL}/prompt"
SOURCE, NAME = "source", "name"


@dataclass(frozen=True, slots=True)
class PromptPage:
    """Asks for the arguments of a prompt, and fills in the form. Nothing is created here."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(PROMPT, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(PROMPT, self.fill_in)]

    async def page(self, request: web.Request, asked: FormState = NOTHING, refusal: str = "") -> web.Response:
        await check_again(request)
        channel, source, name = channel_of(request), request.query.get(SOURCE, ""), request.query.get(NAME, "")
        return await self.workspace.answer(
            request,
            "prompt.html",
            status=422 if asked.problems or refusal else 200,
            channel=channel,
            given=asked.given,
            problems=asked.problems,
            refusal=refusal,
            source=source,
            prompt=await self.workspace.views.tools.find_prompt(channel, source, name),
        )

    async def fill_in(self, request: web.Request) -> web.StreamResponse:
        """Ask the server for the text, and show the form for a new agent with it."""
        form, origin = await form_of(request), self.workspace.own(request)
        # raises NotAllowed for who may not create agents
        await self.workspace.service.lifecycle.load_agent_defaults(origin)
        source, name = request.query.get(SOURCE, ""), request.query.get(NAME, "")
        choice = PromptChoice(source, await self.workspace.views.tools.find_prompt(origin.channel, source, name))
        try:
            filled = await fill_in(self.workspace.views, origin.channel, choice, arguments_typed(choice, form))
        except InvalidInput as wrong:
            return await self.page(request, FormState(form, wrong.problems))
        except NotPossible as refused:
            return await self.page(request, FormState(form), visible(str(refused)))
        return await new_agent_page(self.workspace, request, FormState(fields_of(filled.draft)), filled_in=filled.said)
