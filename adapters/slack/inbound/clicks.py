"""Turns clicks on Slack's buttons, menus and reply boxes into calls of the services, and opens views and forms."""

from collections.abc import Awaitable
from dataclasses import dataclass, replace

from adapters.chat.agent_messages import choice_screen, note_screen
from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.chat.refusals import RefusedAction, attempt, redraw_if_outdated
from adapters.chat.texts import creation_text, deletion_text
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import turn_card
from adapters.screens.form_parts import Form
from adapters.screens.forms import edit_form, number_form, reason_form, rule_form
from adapters.screens.ui_text import REVIEWS, most_times
from adapters.slack.inbound.answering import answer_view
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_press
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound import views
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.draw import draw
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from adapters.slack.outbound.forms import agent_view, draw_form
from adapters.slack.outbound.message import SlackMessage
from adapters.typed.actions import FormInput, takes_long
from adapters.typed.typed_text import typed
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, NoticeId, TurnId
from agent_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class SlackClickListener:
    """Handles block actions. A decision is saved before it is acknowledged.

    Forms, views, uploads and slow commands run in the background, after the acknowledgement.
    """

    context: SlackContext

    async def press(self, body: Body, workspace: str) -> None:
        """Carry out one click; if it is refused, tell the person why in an ephemeral message."""
        event = of_press(body, workspace)
        if isinstance(refusal := await attempt(self._carry_out(body, event)), RefusedAction):
            self.context.soon(self.context.tell(event, refusal.on_card))

    async def _carry_out(self, body: Body, event: SlackEvent) -> None:
        match parse_action(body["actions"][0]):
            case ViewButton() as opening:
                self.context.soon(self._tell_refusal(event, self._open(opening, event)))
            case Button("edit" | "reject" | "review" | "answer") as button:
                work = {"review": self._review, "answer": self._ask_for_answer}.get(button.verb, self._ask)
                self.context.soon(self._tell_refusal(event, work(button, event)))
            case Button("reply") as button:
                await self._reply(button, str(body["actions"][0].get("value") or ""), event)
            case Button() as button:
                origin = await self.context.origin(event)
                async with redraw_if_outdated(button, origin, self.context, self.context.surface.draw_again):
                    await self.context.actions.press(button, FormInput(), origin)
            case UploadButton() as upload:
                self.context.soon(self._tell_refusal(event, self._upload(upload, event)))
            case DeleteButton() as deletion:
                await self._delete(deletion, event)
            case SlackDraftButton() as offer:
                await self._create_offered(offer, event)

    async def _reply(self, button: Button, text: str, event: SlackEvent) -> None:
        if takes_long(typed(text)):
            self.context.soon(self._tell_refusal(event, self._say(button, text, event)))
        else:
            await self._say(button, text, event)

    async def _say(self, button: Button, text: str, event: SlackEvent) -> None:
        origin = await self.context.origin(event)
        async with redraw_if_outdated(button, origin, self.context, self.context.surface.draw_again):
            answer = await self.context.actions.reply(button, text, origin)
        if answer.kept:
            note = answer.kept
            self.context.soon(self.context.post(event, draw(note_screen(note.agent, origin.by, text))))
        if answer.buttons:
            self.context.soon(self.context.tell(event, draw(choice_screen(answer.text, answer.buttons))))
        elif answer.is_asked:
            self.context.soon(self.context.tell(event, answer.text))
        elif answer.is_wanted:
            self.context.soon(self.context.give(event, answer, AgentId(button.subject), origin))

    async def _ask(self, button: Button, event: SlackEvent) -> None:
        """Open the form that precedes the decision."""
        origin = await self.context.origin(event)
        seen = self.context.views
        agent, turn = await seen.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        if button.verb == "reject":
            form = reason_form(turn, str(button), await seen.words_about(agent, turn, origin.by))
        else:
            form = edit_form(turn, seen.spec(turn.call.name))
        await self.context.open(event, draw_form(form, origin.channel.key, event.thread))

    async def _ask_for_answer(self, button: Button, event: SlackEvent) -> None:
        origin = await self.context.origin(event)
        await self.context.open(event, await answer_view(self.context, button, origin, event.thread))

    async def _review(self, button: Button, event: SlackEvent) -> None:
        """Run a self-review, which ends long after the acknowledgement; tell the person that it began."""
        origin = await self.context.origin(event)
        await self.context.views.open_to(origin.by, origin.channel, TurnId(button.subject))
        await self.context.tell(event, REVIEWS)
        await self.context.actions.press(button, FormInput(), origin)

    async def _open(self, opening: ViewButton, event: SlackEvent) -> None:
        """Open a read-only view or the form for a new agent."""
        origin, seen = await self.context.origin(event), self.context.views
        place = FormContext(origin.channel.key, str(opening), event.thread)
        match opening.verb:
            case "another number" | "always allow":
                form = await self._form_on_turn(opening, origin)
                await self.context.open(event, draw_form(form, origin.channel.key, event.thread))
            case "show all":
                card = turn_card(*await seen.turn(origin.channel, TurnId(opening.subject)))
                await self.context.open(event, views.show_all(card, place, opening.part))
            case "show reply":
                _, notice = await seen.reply(origin.channel, NoticeId(opening.subject))
                await self.context.open(event, views.reply_view(notice, place, opening.part))
            case "thoughts":
                card = turn_card(*await seen.turn(origin.channel, TurnId(opening.subject)))
                await self.context.open(event, views.thoughts_view(card, place))
            case "new agent":
                last = await self.context.service.lifecycle.load_agent_defaults(origin)
                view = agent_view(None, last, origin.channel.key)
                await self.context.open(event, await self.context.with_starters(view, origin.channel))
            case "open":
                pass

    async def _form_on_turn(self, opening: ViewButton, origin: Origin) -> Form:
        """The form for a number, or for a rule that the card suggests."""
        if opening.verb == "always allow":
            return rule_form(*await self.context.actions.management_commands.rules.find_offers(opening, origin))
        seen = self.context.views
        _, turn = await seen.open_to(origin.by, origin.channel, TurnId(opening.subject), opening.shown)
        return number_form(turn, most_times(self.context.service.decisions.continuous_limit))

    async def _upload(self, upload: UploadButton, event: SlackEvent) -> None:
        """Upload a file of the agent to its thread, visible to the whole channel."""
        origin = await self.context.origin(event)
        agent, data = await self.context.views.file_to_share(origin.by, origin.channel, upload.agent, upload.file)
        await self.context.surface.upload(agent, upload.file.rpartition("/")[2], data)

    async def _delete(self, deletion: DeleteButton, event: SlackEvent) -> None:
        origin = await self.context.origin(event)
        deleted = await self.context.service.lifecycle.delete(deletion.agent, origin)
        there = replace(event, thread=deleted.agent.thread.thread if deleted.agent.thread else "")
        self.context.soon(self.context.post(there, SlackMessage.plain(deletion_text(deleted, origin.by))))

    async def _create_offered(self, offer: SlackDraftButton, event: SlackEvent) -> None:
        """Create the drafted agent, or open the form filled with the draft."""
        if offer.verb == "create" and offer.draft:
            agent = await self.context.service.lifecycle.create(offer.draft, await self.context.origin(event))
            self.context.soon(self.context.tell(event, creation_text(agent)))
        else:
            self.context.soon(self._tell_refusal(event, self._change(offer, event)))

    async def _change(self, offer: SlackDraftButton, event: SlackEvent) -> None:
        origin = await self.context.origin(event)
        last = await self.context.service.lifecycle.load_agent_defaults(origin)
        draft = offer.draft or AgentDraft(goals=(offer.sentence,))
        await self.context.open(event, agent_view(draft, last, origin.channel.key))

    async def _tell_refusal(self, event: SlackEvent, work: Awaitable[None]) -> None:
        if isinstance(refusal := await attempt(work), RefusedAction):
            await self.context.tell(event, refusal.on_card)
