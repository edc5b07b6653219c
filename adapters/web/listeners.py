"""What people send from the page, service calls out. No decisions are taken here."""

from dataclasses import dataclass

from aiohttp import web

from adapters.forms import Form, dollars, draft_of
from adapters.intents import Filled
from adapters.web import people
from adapters.web.app import Workspace, agent_id_of, is_own
from adapters.web.forms import changed_arguments, pressed
from adapters.web.guard import COOKIE
from adapters.web.render import agent_path, channel_path
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.ids import TurnId
from agent_core.model.people import Origin
from agent_core.model.places import ChannelScope

CHANNEL = "/c/{surface}/{workspace}/{channel}"
AGENT = CHANNEL + "/a/{agent}"


@dataclass(frozen=True, slots=True)
class Listeners:
    """One handler for each thing a form can send; each ends on a page."""

    workspace: Workspace

    def routes(self) -> list[web.RouteDef]:
        """Every route that changes something."""
        return [
            web.post("/me", self.rename),
            web.post("/enter", self.enter),
            web.post("/channels", self.go_to_channel),
            web.post(f"{CHANNEL}/new", self.create),
            web.post(f"{AGENT}/press", self.press),
            web.post(f"{AGENT}/say", self.say),
            web.post(f"{AGENT}/budget", self.set_budget),
            web.post(f"{AGENT}/delete", self.delete),
        ]

    async def rename(self, request: web.Request) -> web.StreamResponse:
        """Take another name."""
        form = await form_of(request)
        response = see_other(_inside(form.get("to", "/")))
        person = people.renamed(people.person_of(request), form.get("name", ""))
        people.remember(response, person, secure=self.workspace.guard.is_secure)
        return response

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Show the token once and keep a badge of it."""
        form = await form_of(request)
        guard, to = self.workspace.guard, _inside(form.get("to", "/"))
        if not guard.accepts(form.get("token", "")):
            return await self.workspace.enter(request, said="That is not the token.", to=to, status=403)
        response = see_other(to)
        response.set_cookie(COOKIE, guard.badge, httponly=True, samesite="Strict", path="/", secure=guard.is_secure)
        return response

    async def go_to_channel(self, request: web.Request) -> web.StreamResponse:
        """Open a channel by its name; it is there as soon as somebody uses it."""
        form = await form_of(request)
        name = "-".join(form.get("name", "").strip().lstrip("#").casefold().split())[:80]
        if not name:
            raise InvalidInput({"name": "Channel: write a name."})
        return see_other(channel_path(ChannelScope("web", people.WORKSPACE, name)))

    async def create(self, request: web.Request) -> web.StreamResponse:
        """Make an agent; a form that cannot be used comes back as it was filled in."""
        form, origin = await form_of(request), self._own(request)
        try:
            agent = await self.workspace.intents.service.create(draft_of(form), origin)
        except InvalidInput as error:
            return await self.workspace.new_agent(request, given=form, problems=error.problems)
        return see_other(agent_path(agent))

    async def press(self, request: web.Request) -> web.StreamResponse:
        """A button on a card, with what was filled in beside it."""
        form, origin = await form_of(request), self._own(request)
        button, views = pressed(form), self.workspace.intents.views
        filled = Filled(text=form.get("text", ""))
        if button.verb == "edit":
            _, turn = await views.turn(origin.channel, TurnId(button.subject))
            filled = Filled(arguments=changed_arguments(form, turn, views.spec(turn.proposal.call.name)))
        await self.workspace.intents.press(button, filled, origin)
        return _to_thread(request)

    async def say(self, request: web.Request) -> web.StreamResponse:
        """The reply box."""
        form, origin = await form_of(request), self._own(request)
        await self.workspace.intents.say(agent_id_of(request), form.get("text", "").strip(), origin)
        return _to_thread(request)

    async def set_budget(self, request: web.Request) -> web.StreamResponse:
        """Raise, lower or lift the budget."""
        form, origin = await form_of(request), self._own(request)
        limit = dollars(form.get("budget", ""))
        await self.workspace.intents.tuning.set_budget(agent_id_of(request), limit, origin)
        return _to_thread(request)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """Remove the agent, once its name was typed to confirm."""
        form, origin = await form_of(request), self._own(request)
        agent = await self.workspace.intents.views.agent(origin.channel, agent_id_of(request))
        if form.get("name", "").strip().casefold() != agent.name.casefold():
            raise InvalidInput({"name": f"To delete {agent.name}, type its name."})
        await self.workspace.intents.service.delete(agent.id, origin)
        return see_other(channel_path(origin.channel))

    def _own(self, request: web.Request) -> Origin:
        origin = self.workspace.origin(request)
        if not is_own(origin.channel):
            raise NotAllowed(f"decide here: its team decides on {origin.channel.surface.title()}.")
        return origin


async def form_of(request: web.Request) -> Form:
    """The fields of the form that was sent."""
    sent = await request.post()
    return {name: value for name, value in sent.items() if isinstance(value, str)}


def see_other(path: str) -> web.Response:
    """Lead to another page."""
    return web.Response(status=303, headers={"Location": path})


def _to_thread(request: web.Request) -> web.Response:
    return see_other(request.rel_url.raw_path.rpartition("/")[0])


def _inside(path: str) -> str:
    """A path on this page, whatever was asked for."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"
