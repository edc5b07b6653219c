"""The page of what waits for one person, one card open beside the list, and the approval of several selected there."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from adapters.screens.buttons import Button
from adapters.screens.cards import turn_card
from adapters.screens.ui_text import SECOND
from adapters.typed.actions import FormInput
from adapters.web import identity
from adapters.web.inbox.stopping import count_at_work, may_stop_all, offer_text, stop_all
from adapters.web.inbox.visits import Visit
from adapters.web.page_context import GENERAL, WebContext
from adapters.web.pages.form_pages import after_saving
from adapters.web.requests import form_of, is_own, redirect_to
from agent_core.errors import InvalidInput, NotAllowed, PersonError
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.service.reading.approval_queue import WaitingAgent

APPROVE = "/approve"
PICK_PREFIX = "pick."
MAX_FINISHED, LAST_FINISHED = 5, 2  # the lines below the list; the last, where nothing waits
MAX_PAST = 3  # turns below the card that is open
MOST = {"most_running": 8, "most_receipts": 3}  # more approvals than the second are folded


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


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one selected proposal."""

    line: str
    is_approved: bool


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which part of the list is shown, as the address says: one channel, one risk class, the person's own agents.

    `opened`: the key of the row whose card is beside the list, or "" for the first one.
    """

    channel: str
    risk: str
    is_mine: bool
    opened: str = ""

    @classmethod
    def of(cls, request: web.Request) -> "QueueFilter":
        given = request.query
        risk = given.get("class", "")
        mine, opened = given.get("mine", "") == "1", given.get("open", "")
        return cls(given.get("channel", ""), risk if risk in RISK_CLASSES else "", mine, opened)

    @property
    def query(self) -> str:
        """The end of the address that keeps the filter: `?class=execute`, or ""."""
        chosen = {"channel": self.channel, "class": self.risk, "mine": "1" if self.is_mine else ""}
        text = urlencode({name: value for name, value in chosen.items() if value})
        return f"?{text}" if text else ""

    def with_open(self, key: str) -> str:
        """The address of the list with this row's card beside it; "" for none."""
        opened = urlencode({"open": key}) if key else ""
        return f"/{self.query}{'&' if self.query else '?'}{opened}" if opened else f"/{self.query}"

    def has_agent(self, agent: Agent, person: Actor) -> bool:
        is_here = self.channel in ("", agent.channel.key)
        return is_here and (not self.is_mine or agent.owner.id == person.id)

    def choose(self, rows: Sequence[WaitingAgent]) -> WaitingAgent | None:
        """The row whose card is open; after one that waits no more the next that asks, as keys follow time."""
        by_key = {key_of(each): each for each in rows}
        later = [each for key, each in by_key.items() if each.turn and key >= self.opened] or rows
        return by_key.get(self.opened) or next(iter(later), None)


def key_of(row: WaitingAgent) -> str:
    """Names a row and its card."""
    return row.turn.id if row.turn else f"paused-{row.agent.id}"


async def queue_page(workspace: WebContext, request: web.Request, told: tuple[Receipt, ...] = ()) -> web.Response:
    """What waits for this person. `told`: what became of what they selected."""
    person, chosen = identity.person_of(request), QueueFilter.of(request)
    census = await workspace.views.census()
    everything = await workspace.list_waiting_for(person, census)
    own = list(dict.fromkeys(each.channel for each in census if is_own(each.channel)))
    present = await workspace.views.queue.survey(person, own)
    agents = [agent for agent in everything if chosen.has_agent(agent, person)]
    listed = await workspace.views.queue.list_waiting(agents)
    shown = [each for each in listed if not chosen.risk or (each.turn and chosen.risk in each.turn.risks)]
    opened, visit = chosen.choose(shown), Visit.of(request, workspace.clock.now())
    past = await workspace.views.turns_before(opened.agent, opened.turn, MAX_PAST) if opened and opened.turn else ()
    newly_finished = [agent for agent in present.finished if agent.since > visit.since]
    response = await workspace.answer(
        request,
        "waiting.html",
        told=told,
        outcome=await workspace.last_decisions.of(person),
        chosen=chosen,
        places=list(dict.fromkeys(agent.channel for agent in everything)),
        rows=shown,
        opened=opened,
        past=past,
        key_of=key_of,
        leased=[agent for agent in present.leased if chosen.has_agent(agent, person)],
        present=present,
        **MOST,
        newly_finished=newly_finished,
        ended=newly_finished[:MAX_FINISHED] or present.finished[:LAST_FINISHED],
        templates=workspace.templates.every,
        stops=offer_text(count_at_work(census), len(present.between_runs)) if may_stop_all(person) else "",
        unread=len(agents) - len(listed),
        general=GENERAL,
        spec_of=workspace.views.spec,
    )
    if not identity.is_sent_by_script(request):
        visit.remember(response, secure=workspace.guard.is_secure)
    if opened and opened.turn:
        await workspace.record_showings(request, [(opened.agent.channel, opened.turn)])
    return response


async def approve_selected(workspace: WebContext, request: web.Request) -> web.Response:
    """Approve each selected proposal by a call and a hash of its own, and tell what became of each."""
    form = await form_of(request)
    picks = [Pick.parse(name, value) for name, value in form.items() if name.startswith(PICK_PREFIX)]
    if not picks:
        raise InvalidInput({"pick": "Select a card first."})
    told: list[Receipt] = []
    for pick in picks:
        with after_saving() if told else nullcontext():
            told.append(await _approve(workspace, request, pick))
    with after_saving():
        return await queue_page(workspace, request, tuple(told))


async def answer_stop_all(workspace: WebContext, request: web.Request) -> web.Response:
    """Stop all agents, and tell how many stopped."""
    said = await stop_all(workspace.service, workspace.views, identity.person_of(request))
    with after_saving():
        return await queue_page(workspace, request, (Receipt(said, is_approved=False),))


async def redirect_home(_request: web.Request) -> web.StreamResponse:
    """Answer a GET of the address to which a selection is sent."""
    return redirect_to("/")


async def _approve(workspace: WebContext, request: web.Request, pick: Pick) -> Receipt:
    """Approve one; the receipt says whether it was approved, or why not."""
    origin = Origin(by=identity.person_of(request), channel=pick.channel)
    name = "a selected card"
    try:
        if not is_own(pick.channel):
            raise NotAllowed(f"decide here: its team decides on {pick.channel.surface.title()}.")
        agent, turn = await workspace.views.turn(pick.channel, pick.turn)
        name = turn_card(agent, turn).action
        await workspace.actions.press(Button("approve", pick.turn, shown=pick.shown), FormInput(), origin)
    except PersonError as error:
        return Receipt(f"Not approved: {name}: {error}", is_approved=False)
    workspace.last_decisions.note(origin.by, pick.channel, pick.turn)
    agent, after = await workspace.views.turn(pick.channel, pick.turn)
    if after.first_approval:
        return Receipt(f"1 of 2: {name}. {SECOND}", is_approved=False)
    return Receipt(f"Approved: {turn_card(agent, after).action}", is_approved=True)
