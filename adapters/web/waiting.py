"""The page of what waits for one person, and the approval of several proposals that they selected there."""

from contextlib import nullcontext
from dataclasses import dataclass

from aiohttp import web

from adapters.actions import FormInput
from adapters.buttons import Button
from adapters.cards import turn_card
from adapters.web import identity
from adapters.web.page_context import GENERAL, WebContext
from adapters.web.requests import form_of, is_own, redirect_to
from adapters.web.screens import after_saving
from agent_core.errors import InvalidInput, NotAllowed, PersonError
from agent_core.model.actors import Origin
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import TurnId

APPROVE = "/approve"
PICK_PREFIX = "pick."
MAX_WHOLE_CARDS = 10  # the other agents are one line each and cannot be selected


@dataclass(frozen=True, slots=True)
class Pick:
    """A selected proposal: where it is, and the hash of what its card showed."""

    channel: ChannelScope
    turn: TurnId
    shown: str

    @classmethod
    def parse(cls, name: str, value: str) -> "Pick":
        """Parse a checkbox: the turn in its name, channel and hash in its value; raise InvalidInput."""
        key, _, shown = value.rpartition(" ")
        try:
            return cls(ChannelScope.parse(key), TurnId(name.removeprefix(PICK_PREFIX)), shown)
        except ValueError as foreign:
            raise InvalidInput({"pick": "This selection is not one of Signoff's."}) from foreign


async def queue_page(workspace: WebContext, request: web.Request, told: tuple[str, ...] = ()) -> web.Response:
    """What waits for this person. `told`: what became of what they selected, one line each."""
    agents = await workspace.list_waiting_for(identity.person_of(request), await workspace.views.census())
    return await workspace.answer(
        request,
        "waiting.html",
        told=told,
        waiting=await workspace.views.queue.list_waiting(agents),
        general=GENERAL,
        spec_of=workspace.views.spec,
        most_whole=MAX_WHOLE_CARDS,
    )


async def approve_selected(workspace: WebContext, request: web.Request) -> web.Response:
    """Approve each selected proposal by a call and a hash of its own, and tell what became of each."""
    form = await form_of(request)
    picks = [Pick.parse(name, value) for name, value in form.items() if name.startswith(PICK_PREFIX)]
    if not picks:
        raise InvalidInput({"pick": "Select a card first."})
    told: list[str] = []
    for pick in picks:
        with after_saving() if told else nullcontext():
            told.append(await _approve(workspace, request, pick))
    with after_saving():
        return await queue_page(workspace, request, tuple(told))


async def redirect_home(_request: web.Request) -> web.StreamResponse:
    """Answer a GET of the address to which a selection is sent."""
    return redirect_to("/")


async def _approve(workspace: WebContext, request: web.Request, pick: Pick) -> str:
    """Approve one; a sentence says whether it was approved, or why not."""
    origin = Origin(by=identity.person_of(request), channel=pick.channel)
    name = "A selected card"
    try:
        if not is_own(pick.channel):
            raise NotAllowed(f"decide here: its team decides on {pick.channel.surface.title()}.")
        agent, turn = await workspace.views.turn(pick.channel, pick.turn)
        name = turn_card(agent, turn).headline
        await workspace.actions.press(Button("approve", pick.turn, shown=pick.shown), FormInput(), origin)
    except PersonError as error:
        return f"{name}: {error}"
    return f"{name}: approved."
