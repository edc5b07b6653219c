"""The page of a tool server's prompt: what it has to be told, and then the form for a new agent, filled in from it."""

from dataclasses import dataclass, replace

from aiohttp import web

from adapters.forms import fields_of
from adapters.prompt_drafts import draft_from_prompt
from adapters.visible_text import visible
from adapters.web.page_context import WebContext
from adapters.web.requests import CHANNEL, channel_of, form_of
from adapters.web.screens import NOTHING, FormState, new_agent_page
from agent_core.errors import InvalidInput, NotPossible

PROMPT = f"{CHANNEL}/prompt"
SOURCE, NAME, ARGUMENT = "source", "name", "argument."


@dataclass(frozen=True, slots=True)
class PromptPage:
    """Asks for the arguments of a prompt, and fills in the form. Nothing is created here."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(PROMPT, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(PROMPT, self.fill_in)]

    async def page(self, request: web.Request, asked: FormState = NOTHING, refusal: str = "") -> web.Response:
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
        await self.workspace.service.load_agent_defaults(origin)  # raises NotAllowed for who may not create agents
        source, name = request.query.get(SOURCE, ""), request.query.get(NAME, "")
        tools = self.workspace.views.tools
        prompt = await tools.find_prompt(origin.channel, source, name)
        given = {each.name: form.get(f"{ARGUMENT}{number}", "") for number, each in enumerate(prompt.arguments)}
        try:
            text = await tools.read_prompt(origin.channel, source, name, given)
        except InvalidInput as wrong:
            return await self.page(request, FormState(form, wrong.problems))
        except NotPossible as refused:
            return await self.page(request, FormState(form), visible(str(refused)))
        draft, remark = draft_from_prompt(prompt, text)
        draft = replace(draft, name=await self.workspace.views.find_free_name(origin.channel, draft.name))
        label = visible(prompt.title or prompt.name)
        said = f"Filled in from the prompt “{label}” of {visible(source)}. Its author wrote these goals: read them, and"
        said = " ".join(filter(None, (f"{said} change what you like. Nothing is created yet.", remark)))
        return await new_agent_page(self.workspace, request, FormState(fields_of(draft)), filled_in=said)
