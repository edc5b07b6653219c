"""Has a model fill in the form for a new agent from one sentence. What the person typed stays."""

from dataclasses import dataclass

from aiohttp import web

from adapters.typed.form_values import FormValues, fields_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import FormState, new_agent_page
from adapters.web.requests import CHANNEL, form_of
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft

DRAFTED_FIELDS = ("name", "role", "goals")
DRAFTED = "drafted."  # before the names of the hidden fields with what the model filled in last
NO_SENTENCE = "Describe the agent in a sentence first."
NOTHING_TO_DRAFT = "Name, role and goals are yours, so nothing was drafted. Empty a field to have it filled in."
FILLED_IN = "Drafted from your sentence. Change what you like: nothing is created yet."


@dataclass(frozen=True, slots=True)
class DraftingRoute:
    """Answers with the form: filled in, or unchanged with a sentence that says why."""

    workspace: WebContext

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(f"{CHANNEL}/draft", self.draft)]

    async def draft(self, request: web.Request) -> web.StreamResponse:
        """Fill in name, role and goals where they are empty or as the model drafted them before."""
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.service.lifecycle.load_agent_defaults(origin)
        if problem := _problem(form):
            return await self._refuse(request, form, problem)
        try:
            drafted = await self.workspace.drafting.draft_by_model(form["sentence"], origin)
        except NotPossible as why:
            return await self._refuse(request, form, str(why))
        return await new_agent_page(self.workspace, request, FormState(_with_draft(form, drafted)), filled_in=FILLED_IN)

    async def _refuse(self, request: web.Request, form: FormValues, problem: str) -> web.Response:
        return await new_agent_page(self.workspace, request, FormState(form, {"sentence": problem}))


def _problem(form: FormValues) -> str:
    if not form.get("sentence", "").strip():
        return NO_SENTENCE
    return "" if any(_may_fill(form, name) for name in DRAFTED_FIELDS) else NOTHING_TO_DRAFT


def _may_fill(form: FormValues, name: str) -> bool:
    """Whether a field is empty, or still holds what the model filled in."""
    typed = _lines(form.get(name, ""))
    return not typed or typed == _lines(form.get(DRAFTED + name, ""))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _with_draft(form: FormValues, draft: AgentDraft) -> FormValues:
    fields = fields_of(draft)
    filled = {name: fields[name] for name in DRAFTED_FIELDS if _may_fill(form, name)}
    return {**form, **filled, **{DRAFTED + name: value for name, value in filled.items()}}
