"""Buttons, choices and reply boxes in, service calls out: saved first, then acknowledged, then shown."""

import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from adapters.actions import Filled, takes_long
from adapters.buttons import Button, Opening
from adapters.cards import turn_card
from adapters.slack.inbound.context import WENT_WRONG, Ack, Desk
from adapters.slack.inbound.fields import Place
from adapters.slack.inbound.inbound_event import Arrival, Body, of_press
from adapters.slack.inbound.slash import made_text
from adapters.slack.outbound import views
from adapters.slack.outbound.blocks import Message
from adapters.slack.outbound.extra_buttons import Deletion, Offer, Upload
from adapters.slack.outbound.render import kept_message, note_message, pressed
from adapters.ui_text import REVIEWS, TOO_LONG_TO_EDIT
from agent_core.errors import AlreadyDecided, ChangedSinceShown, CommandError, NotFound, NotPossible, PersonError
from agent_core.model.actors import Origin
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, NoticeId, TurnId

logger = logging.getLogger(__name__)

GONE = "This card belongs to an agent that was deleted."


@dataclass(frozen=True, slots=True)
class Clicks:
    """What is pressed on a card. A form is opened first; anything else is saved before Slack hears that it arrived."""

    desk: Desk

    async def press(self, ack: Ack, body: Body, workspace: str) -> None:
        """Carry out one press; whoever pressed is told what came of it where the card does not show it."""
        arrival = of_press(body, workspace)
        try:
            await self._carry_out(body, arrival)
        except PersonError as error:
            self.desk.soon(self._refuse(arrival, body, error))
        except Exception:
            logger.exception("click failed")
            self.desk.soon(self.desk.tell(arrival, WENT_WRONG))
        await ack()

    async def _carry_out(self, body: Body, arrival: Arrival) -> None:
        match pressed(body["actions"][0]):
            case Opening() as opening:
                self.desk.soon(self._answered(arrival, self._open(opening, arrival)))
            case Button("edit" | "reject" | "review") as button:
                work = self._review if button.verb == "review" else self._ask
                self.desk.soon(self._answered(arrival, work(button, arrival)))
            case Button("reply") as button:
                await self._reply(button, str(body["actions"][0].get("value") or ""), arrival)
            case Button() as button:
                await self.desk.intents.press(button, Filled(), await self.desk.origin(arrival))
            case Upload() as upload:
                self.desk.soon(self._answered(arrival, self._upload(upload, arrival)))
            case Deletion() as deletion:
                await self._delete(deletion, arrival)
            case Offer() as offer:
                await self._offered(offer, arrival)

    async def _reply(self, button: Button, text: str, arrival: Arrival) -> None:
        if takes_long(text):
            self.desk.soon(self._answered(arrival, self._say(button, text, arrival)))
        else:
            await self._say(button, text, arrival)

    async def _say(self, button: Button, text: str, arrival: Arrival) -> None:
        origin = await self.desk.origin(arrival)
        answer = await self.desk.intents.press(button, Filled(text=text), origin)
        if answer.kept:
            note = answer.kept
            self.desk.soon(self.desk.post(arrival, note_message(note.agent, origin.by, text)))
            if note.agent.is_at_rest:
                self.desk.soon(self.desk.tell(arrival, kept_message(note.agent, answer.text)))
        elif answer.is_asked:
            self.desk.soon(self.desk.tell(arrival, answer.text))
        elif answer.is_wanted:
            self.desk.soon(self.desk.give(arrival, answer, AgentId(button.subject), origin))

    async def _ask(self, button: Button, arrival: Arrival) -> None:
        """Open the form that comes before the decision."""
        origin = await self.desk.origin(arrival)
        seen = self.desk.intents.views
        agent, turn = await seen.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        place = Place(origin.channel.key, str(button), arrival.thread)
        if button.verb == "reject":
            view = views.reason_form(agent, turn, place)
        else:
            spec = seen.spec(turn.call.name)
            edit = views.edit_form(turn, spec, place)
            if edit is None:
                raise NotPossible(TOO_LONG_TO_EDIT)
            view = edit
        await self.desk.open(arrival, view)

    async def _review(self, button: Button, arrival: Arrival) -> None:
        """Have the model criticise its proposal; it is answered long after Slack was."""
        origin = await self.desk.origin(arrival)
        await self.desk.intents.views.open_to(origin.by, origin.channel, TurnId(button.subject))
        await self.desk.tell(arrival, REVIEWS)
        await self.desk.intents.press(button, Filled(), origin)

    async def _open(self, opening: Opening, arrival: Arrival) -> None:
        """Open what only shows something, or the form of something new."""
        origin, seen = await self.desk.origin(arrival), self.desk.intents.views
        place = Place(origin.channel.key, str(opening), arrival.thread)
        match opening.verb:
            case "another number":
                _, turn = await seen.open_to(origin.by, origin.channel, TurnId(opening.subject), opening.shown)
                about = str(Button("approve", turn.id, shown=turn.control_hash))
                await self.desk.open(arrival, views.number_form(turn, replace(place, about=about)))
            case "show all":
                card = turn_card(*await seen.turn(origin.channel, TurnId(opening.subject)))
                await self.desk.open(arrival, views.show_all(card, place, opening.part))
            case "show reply":
                _, notice = await seen.reply(origin.channel, NoticeId(opening.subject))
                await self.desk.open(arrival, views.reply_view(notice, place, opening.part))
            case "thoughts":
                card = turn_card(*await seen.turn(origin.channel, TurnId(opening.subject)))
                await self.desk.open(arrival, views.thoughts_view(card, place))
            case "new agent":
                last = await self.desk.intents.service.offered_draft(origin)
                await self.desk.open(arrival, views.agent_form(None, last, origin.channel.key))
            case "open":
                pass

    async def _upload(self, upload: Upload, arrival: Arrival) -> None:
        """Put a file of the agent into its thread, where everybody in the channel sees it."""
        origin = await self.desk.origin(arrival)
        agent, data = await self.desk.intents.views.file_to_share(origin.by, origin.channel, upload.agent, upload.path)
        await self.desk.surface.upload(agent, upload.path.rpartition("/")[2], data)

    async def _delete(self, deletion: Deletion, arrival: Arrival) -> None:
        origin = await self.desk.origin(arrival)
        agent = await self.desk.intents.service.delete(deletion.agent, origin)
        said = f"{agent.name} was deleted by {origin.by}, with its history, memory and files."
        there = replace(arrival, thread=agent.thread.thread if agent.thread else "")
        self.desk.soon(self.desk.post(there, Message.plain(said)))

    async def _offered(self, offer: Offer, arrival: Arrival) -> None:
        """Create what was drafted, or open the form with it."""
        if offer.verb == "create" and offer.draft:
            agent = await self.desk.intents.service.create(offer.draft, await self.desk.origin(arrival))
            self.desk.soon(self.desk.tell(arrival, made_text(agent)))
        else:
            self.desk.soon(self._answered(arrival, self._change(offer, arrival)))

    async def _change(self, offer: Offer, arrival: Arrival) -> None:
        origin = await self.desk.origin(arrival)
        last = await self.desk.intents.service.offered_draft(origin)
        draft = offer.draft or AgentDraft(goals=(offer.sentence,))
        await self.desk.open(arrival, views.agent_form(draft, last, origin.channel.key))

    async def _answered(self, arrival: Arrival, work: Awaitable[None]) -> None:
        try:
            await work
        except (PersonError, CommandError) as error:
            await self.desk.tell(arrival, str(error))

    async def _refuse(self, arrival: Arrival, body: Body, error: PersonError) -> None:
        """Say why not, and bring a card up to date that had moved on."""
        await self.desk.tell(arrival, GONE if isinstance(error, NotFound) else str(error))
        button = pressed(body["actions"][0])
        if isinstance(error, AlreadyDecided | ChangedSinceShown | NotPossible) and isinstance(button, Button):
            origin = await self.desk.origin(arrival)
            await self._draw_again(button, origin)

    async def _draw_again(self, button: Button, origin: Origin) -> None:
        seen = self.desk.intents.views
        if button.verb in ("stop", "resume", "revoke", "reply"):
            turn = await seen.newest_turn(origin.channel, AgentId(button.subject))
            if turn:
                await self.desk.surface.draw_again(*await seen.turn(origin.channel, turn.id))
        else:
            await self.desk.surface.draw_again(*await seen.turn(origin.channel, TurnId(button.subject)))
