"""Handles clicks in Slack's direct messages about an agent that waits: decides, asks for a reason, redraws them."""

from dataclasses import dataclass

from adapters.chat.refusals import RefusedAction, attempt
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import turn_card
from adapters.screens.forms import reason_form
from adapters.slack.inbound.context import SlackContext, channel_of
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_press
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound import views
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.forms import draw_form
from adapters.slack.outbound.notifications import channel_of_block
from adapters.typed.actions import FormInput
from agent_core.errors import AlreadyDecided, ChangedSinceShown, NotFound, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import ChannelScope, Origin
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn


@dataclass(frozen=True, slots=True)
class SlackDirectListener:
    """Handles clicks in direct messages. The channel stands in the clicked block; membership is asked of Slack."""

    context: SlackContext

    async def press(self, body: Body, workspace: str, channel: ChannelScope) -> None:
        """Carry out one click; if it is refused, tell the person why."""
        event = of_press(body, workspace)
        if isinstance(refusal := await attempt(self._carry_out(body, event, channel)), RefusedAction):
            self.context.soon(self.context.tell(event, refusal.on_card))

    async def _carry_out(self, body: Body, event: SlackEvent, channel: ChannelScope) -> None:
        pressed = parse_action(body["actions"][0])
        if isinstance(pressed, ViewButton) and pressed.verb == "open":
            return
        origin = await self.context.origin_in(event, channel)
        match pressed:
            case ViewButton() as opening:
                self.context.soon(self.context.tell_refusal(event, self._open(opening, event, origin)))
            case Button("reject") as button:
                self.context.soon(self.context.tell_refusal(event, self._ask_reason(button, event, origin)))
            case Button("approve" | "run again" | "it ran" | "skip" | "resume") as button:
                await self._decide(button, body, event, origin)
            case _:
                raise NotFound("button", "here")

    async def _decide(self, button: Button, body: Body, event: SlackEvent, origin: Origin) -> None:
        try:
            await self.context.actions.press(button, FormInput(), origin)
        except (AlreadyDecided, ChangedSinceShown, NotPossible):
            self.context.soon(self._redraw(button, body, event, origin))
            raise

    async def _redraw(self, button: Button, body: Body, event: SlackEvent, origin: Origin) -> None:
        """Let an outdated direct message tell how its wait ended."""
        agent, turn = await self._find(button, origin.channel)
        address = f"{channel_of(event).channel}/{body['container']['message_ts']}"
        outdated = Notification(since=agent.since, to=event.person, address=address)
        await self.context.surface.notifications.take_back(agent, turn, outdated)

    async def _find(self, button: Button, channel: ChannelScope) -> tuple[Agent, Turn | None]:
        if button.verb == "resume":
            return await self.context.views.agent(channel, AgentId(button.subject)), None
        return await self.context.views.turn(channel, TurnId(button.subject))

    async def _ask_reason(self, button: Button, event: SlackEvent, origin: Origin) -> None:
        _, turn = await self.context.views.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        await self.context.open(event, draw_form(reason_form(turn, str(button)), origin.channel.key))

    async def _open(self, opening: ViewButton, event: SlackEvent, origin: Origin) -> None:
        card = turn_card(*await self.context.views.turn(origin.channel, TurnId(opening.subject)))
        place = FormContext(origin.channel.key, str(opening), "")
        shown = views.thoughts_view(card, place) if opening.verb == "thoughts" else None
        await self.context.open(event, shown or views.show_all(card, place, opening.part))


def channel_in(body: Body) -> ChannelScope | None:
    """The agent's channel that the clicked block names, if it is one of a direct message of Signoff's."""
    return channel_of_block(str(body["actions"][0].get("block_id") or ""))
