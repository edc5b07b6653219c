"""POST routes: each form (new agent, press, reply, settings, delete) becomes a call of the service and a redirect."""

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from aiohttp import web

from adapters.screens.ui_text import deleted_text
from adapters.typed.actions import FormInput
from adapters.typed.form_values import FormValues, dollars, effort_of, model_name
from adapters.typed.schedule_commands import create_of_form
from adapters.typed.settings_file import FILENAME
from adapters.typed.typed_text import typed
from adapters.web import identity
from adapters.web.forms import changed_arguments, fields_from_settings, pressed_button
from adapters.web.guard import CHALLENGE, SIGN_OUT
from adapters.web.inbox.stopping import STOP_ALL
from adapters.web.inbox.visits import COOKIE as VISIT
from adapters.web.inbox.waiting import APPROVE, answer_stop_all, approve_selected
from adapters.web.page_context import WebContext
from adapters.web.pages.drafting import DraftingRoute
from adapters.web.pages.file_pages import FilePages
from adapters.web.pages.form_pages import (
    FormState,
    after_saving,
    channel_page,
    new_agent_page,
    send_answer,
    thread_page,
    with_errors_shown,
)
from adapters.web.pages.memory import MemoryPages
from adapters.web.pages.policy_pages import ChannelPolicyPage, PolicyPage, RulesPage
from adapters.web.pages.prompt_page import PromptPage
from adapters.web.pages.schedule_page import SchedulePage
from adapters.web.pages.tools import ToolPage
from adapters.web.render import agent_path, channel_path, page
from adapters.web.requests import (
    AGENT,
    CHANNEL,
    agent_id_of,
    entry_form_of,
    form_of,
    read_form,
    redirect_to,
    redirect_to_parent,
    upload_of,
)
from adapters.web.theme import remember_theme, theme_of
from adapters.web.urls import local_path
from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.turn import SeenProposal
from agent_core.text.reply_meaning import ReplyMeaning

MAX_CREATED_A_MINUTE = 30
# The switch beside the reply box; without it, a reply is a note.
SAY_MODES: dict[str, ReplyMeaning] = {"note": "talk", "ask": "question", "reject": "feedback"}


@dataclass(frozen=True, slots=True)
class PostRoutes:
    """One handler for each form; each answers with a page or a redirect. `created`: when agents were made lately."""

    workspace: WebContext
    created: deque[datetime] = field(default_factory=lambda: deque(maxlen=MAX_CREATED_A_MINUTE))

    def routes(self) -> list[web.RouteDef]:
        thread = partial(thread_page, self.workspace)
        return [
            *([] if self.workspace.guard.sign_in else [web.post("/me", self.rename), web.post("/enter", self.enter)]),
            web.post("/theme", self.set_theme),
            web.post(SIGN_OUT, self.sign_out),
            web.post("/channels", self.go_to_channel),
            web.post(APPROVE, partial(approve_selected, self.workspace)),
            web.post(STOP_ALL, partial(answer_stop_all, self.workspace)),
            web.post(f"{CHANNEL}/new", with_errors_shown(self.create, partial(new_agent_page, self.workspace))),
            web.post(f"{CHANNEL}/import", self.fill_in),
            *DraftingRoute(self.workspace).post_routes(),
            *PromptPage(self.workspace).post_routes(),
            web.post(f"{CHANNEL}/tour", self.start_tour),
            web.post(
                f"{CHANNEL}/budget",
                with_errors_shown(self.set_channel_budget, partial(channel_page, self.workspace)),
            ),
            web.post(f"{AGENT}/press", self.press),
            web.post(f"{AGENT}/say", self.say),
            web.post(f"{AGENT}/goals", with_errors_shown(self.set_goals, thread)),
            web.post(f"{AGENT}/model", with_errors_shown(self.set_model, thread)),
            web.post(f"{AGENT}/budget", with_errors_shown(self.set_budget, thread)),
            web.post(f"{AGENT}/archive", self.archive),
            web.post(f"{AGENT}/unarchive", self.unarchive),
            web.post(f"{AGENT}/delete", with_errors_shown(self.delete, thread)),
            *FilePages(self.workspace).post_routes(),
            *MemoryPages(self.workspace).post_routes(),
            *PolicyPage(self.workspace).post_routes(),
            *ChannelPolicyPage(self.workspace).post_routes(),
            *ToolPage(self.workspace).post_routes(),
            *RulesPage(self.workspace).post_routes(),
            *SchedulePage(self.workspace).post_routes(),
        ]

    async def rename(self, request: web.Request) -> web.StreamResponse:
        form = await form_of(request)
        response = redirect_to(local_path(form.get("to", "/")))
        visitor = identity.visitor_of(request)
        person = identity.renamed(visitor.person, form.get("name", ""))
        self.workspace.guard.remember(response, replace(visitor, person=person))
        return response

    async def set_theme(self, request: web.Request) -> web.StreamResponse:
        """Keep the theme of this browser; the page is drawn again in it."""
        form = await form_of(request)
        response = redirect_to(local_path(form.get("to", "/")))
        remember_theme(response, form.get("theme", ""), secure=self.workspace.guard.is_secure)
        return response

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Check the token, and remember in the cookie that it was typed."""
        form = await entry_form_of(request)
        guard, to = self.workspace.guard, local_path(form.get("to", "/"))
        if not guard.accepts(form.get("token", "")):
            await guard.delay_wrong(request, "token")
            return await self.workspace.enter(request, said="That is not the token.", to=to, status=403)
        response = redirect_to(to)
        guard.remember(response, replace(identity.visitor_of(request), has_entered=True))
        return response

    async def sign_out(self, request: web.Request) -> web.StreamResponse:
        """End this person for good, or the session of an account, whoever has a copy of the cookie.

        The browser forgets the token or the key that was typed there. Refused while a person without an account alone
        decides for an agent: nobody could tell later that they are the same.
        """
        guard, visitor = self.workspace.guard, identity.visitor_of(request)
        if not visitor.session:
            await self._require_not_alone(visitor.person)
        if guard.sign_outs:
            await guard.sign_outs.add(visitor.ended_by)
        left = await guard.sign_in.provider.sign_out_address() if guard.sign_in else ""
        html = page(
            "signed_out.html",
            theme=theme_of(request),
            can_enter=guard.asks_to_enter,
            provider=guard.sign_in.provider.host if guard.sign_in else "",
            left=left,
        )
        response = web.Response(text=html, content_type="text/html", status=200 if guard.asks_to_enter else 401)
        if guard.key and not guard.asks_to_enter:
            response.headers.update(CHALLENGE)  # the answer at which a browser forgets the key
        guard.cookie.forget(response)
        response.del_cookie(VISIT, path="/", secure=guard.is_secure, samesite="Strict", httponly=True)
        return response

    async def _require_not_alone(self, person: Actor) -> None:
        own = await self.workspace.views.list_by_owner("web", identity.WORKSPACE, person.id)
        if alone := [agent.name for agent in own if agent.policy.approvers == "owner" and not agent.head]:
            raise NotPossible(
                f"You alone decide for {', '.join(alone)}, and after signing out you are a new person here. First let "
                "anyone approve there, under Change the policy."
            )

    async def go_to_channel(self, request: web.Request) -> web.StreamResponse:
        """Redirect to the page of the named channel; the channel is stored only when it gets an agent."""
        form = await form_of(request)
        name = "-".join(form.get("name", "").strip().lstrip("#").casefold().split())[:80]
        if not name:
            raise InvalidInput({"name": "Channel: write a name."})
        return redirect_to(channel_path(ChannelScope("web", identity.WORKSPACE, name)))

    async def create(self, request: web.Request) -> web.StreamResponse:
        """Create an agent; at most 30 a minute, because who drops the cookie is a new person each time."""
        form, origin, now = await form_of(request), self.workspace.own(request), self.workspace.clock.now()
        if len(self.created) == MAX_CREATED_A_MINUTE and now - self.created[0] < timedelta(minutes=1):
            raise NotPossible(
                f"{MAX_CREATED_A_MINUTE} agents were made within a minute. Wait a minute, then try again."
            )
        agent = await create_of_form(self.workspace.service, form, origin)
        self.created.append(now)
        return redirect_to(agent_path(agent))

    async def start_tour(self, request: web.Request) -> web.StreamResponse:
        """Create the agent that gives the tour of demo mode, and show its thread."""
        return redirect_to(agent_path(await self.workspace.tour.start(self.workspace.own(request))))

    async def fill_in(self, request: web.Request) -> web.StreamResponse:
        """Show the form for a new agent, filled in from an ai_settings.yaml; no agent is created yet."""
        try:
            form, file, _ = await form_of(request), await upload_of(request, "file"), self.workspace.own(request)
            text, name = (file.text, file.name) if file else (form.get("settings", ""), FILENAME)
            filled, problems = fields_from_settings(text, name)
        except InvalidInput as error:
            said = {"settings": str(error)}
            return await new_agent_page(self.workspace, request, FormState(read_form(request), said))
        return await new_agent_page(
            self.workspace,
            request,
            FormState(filled, problems),
            filled_in=f"Filled in from {FILENAME}. Check it: nothing is created yet.",
        )

    async def set_channel_budget(self, request: web.Request) -> web.StreamResponse:
        """Set or remove the budget of all agents of the channel together."""
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.agent_settings.set_channel_budget(dollars(form.get("budget", "")), origin)
        return redirect_to_parent(request)

    async def press(self, request: web.Request) -> web.StreamResponse:
        """Press a button on a card, with its form fields."""
        form, origin = await form_of(request), self.workspace.own(request)
        button, views = pressed_button(form), self.workspace.views
        filled = FormInput(text=form.get("text", ""), can_undo="to" in form)
        if button.verb == "answer":
            return await send_answer(self.workspace, request, form, button, origin) or _redirect_back(form, request)
        if button.verb == "edit":
            _, turn = await views.turn(origin.channel, TurnId(button.subject))
            filled = FormInput(arguments=changed_arguments(form, turn, views.spec(turn.proposal.call.name)))
        if button.verb in ("fork", "for real"):
            return redirect_to(agent_path(await self.workspace.actions.fork(button, filled.text, origin)))
        await self.workspace.actions.press(button, filled, origin)
        if button.verb in ("approve", "edit", "reject"):
            self.workspace.last_decisions.note(origin.by, origin.channel, TurnId(button.subject))
        return _redirect_back(form, request)

    async def say(self, request: web.Request) -> web.StreamResponse:
        """Send a line from the reply box; the answer to a `!command` is shown on the page."""
        form, origin = await form_of(request), self.workspace.own(request)
        seen = SeenProposal(hashes=form.get("seen", "").split())
        meaning = SAY_MODES.get(form.get("as", ""), "talk")
        line = typed(form.get("text", ""))
        answer = await self.workspace.actions.say(agent_id_of(request), line, origin, seen, meaning)
        if not answer.is_wanted:
            return redirect_to_parent(request)
        with after_saving():
            return await thread_page(self.workspace, request, told=answer)

    async def set_goals(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        goals = tuple(form.get("goals", "").splitlines())
        await self.workspace.agent_settings.set_goals(agent_id_of(request), goals, origin)
        return redirect_to_parent(request)

    async def set_model(self, request: web.Request) -> web.StreamResponse:
        """Set the agent's model and its reasoning effort; nothing, or `default`, stands for the operator's."""
        form, origin = await form_of(request), self.workspace.own(request)
        agent = await self.workspace.views.agent(origin.channel, agent_id_of(request))
        effort = effort_of(form.get("effort", agent.effort))
        await self.workspace.agent_settings.set_model(
            agent.id, model_name(form.get("model", "")), origin, effort if effort != agent.effort else None
        )
        return redirect_to_parent(request)

    async def set_budget(self, request: web.Request) -> web.StreamResponse:
        """Set or remove the agent's budget; by *Raise and resume* it also goes on."""
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.agent_settings.set_budget(agent_id_of(request), dollars(form.get("budget", "")), origin)
        if form.get("then") == "resume":
            await self.workspace.service.lifecycle.resume(agent_id_of(request), origin)
        return _redirect_back(form, request)

    async def archive(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.service.archive.archive(agent_id_of(request), origin)
        return _redirect_back(form, request)

    async def unarchive(self, request: web.Request) -> web.StreamResponse:
        form, origin = await form_of(request), self.workspace.own(request)
        await self.workspace.service.archive.unarchive(agent_id_of(request), origin)
        return _redirect_back(form, request)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """Delete the agent, if its name was typed to confirm; answer with the channel's page and what was deleted."""
        form, origin = await form_of(request), self.workspace.own(request)
        agent = await self.workspace.views.agent(origin.channel, agent_id_of(request))
        if form.get("name", "").strip().casefold() != agent.name.casefold():
            raise InvalidInput({"name": f"To delete {agent.name}, type its name."})
        deleted = await self.workspace.service.lifecycle.delete(agent.id, origin)
        with after_saving():
            return await channel_page(self.workspace, request, told=deleted_text(deleted, origin.by))


def _redirect_back(form: FormValues, request: web.Request) -> web.Response:
    """A redirect to the page that has the form: the one in its field `to`, or else the agent's thread."""
    return redirect_to(local_path(form["to"])) if form.get("to") else redirect_to_parent(request)
