"""The Home tab: publishes a person's open decisions, agents and spend, and handles clicks there and in views."""

from dataclasses import dataclass, replace

from adapters.actions import FormInput
from adapters.buttons import Button, ViewButton
from adapters.cards import turn_card
from adapters.chat.refusals import RefusedAction, attempt
from adapters.slack.inbound.context import Ack, SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_event, of_press
from adapters.slack.inbound.submitted_forms import home_channel, place_of
from adapters.slack.outbound import views
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.message import link_to
from agent_core.errors import NotFound
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.turn import Turn


@dataclass(frozen=True, slots=True)
class HomeTab:
    """Shows people the agents that they own in all channels, and handles clicks on the tab and in open views."""

    context: SlackContext

    async def on_opened(self, body: Body, workspace: str) -> None:
        if body["event"].get("tab") == "home":
            self.context.soon(self.publish(of_event(body, workspace)))

    async def publish(self, event: SlackEvent) -> None:
        owned = await self.context.views.list_by_owner("slack", event.workspace, event.person)
        mine = sorted(owned, key=lambda agent: agent.since, reverse=True)
        waiting = [asked for agent in mine if (asked := await self._find_proposal(agent))]
        view = views.home(mine, waiting, link_to)
        await self.context.calls.ask(
            event.workspace,
            lambda client: client.views_publish(user_id=event.person, view=view),
            place=f"home/{event.person}",
        )

    async def press(self, ack: Ack, body: Body, workspace: str) -> None:
        """Handle a click on the tab, or in a view that shows a turn."""
        event = of_press(body, workspace)
        if isinstance(refusal := await attempt(self._carry_out(body, event)), RefusedAction):
            self.context.soon(self.context.open(event, views.sentence_view("Not done", refusal.text)))
        await ack()

    async def _carry_out(self, body: Body, event: SlackEvent) -> None:
        match parse_action(body["actions"][0]):
            case ViewButton("new agent"):
                self.context.soon(self.context.open(event, views.agent_form(None, None, "")))
            case ViewButton("show all") as opening:
                self.context.soon(self._turn_over(opening, body["view"], event))
            case Button("stop" | "resume") as button:
                await self._on_mine(button, body, event)
                self.context.soon(self.publish(event))
            case _:
                pass

    async def _on_mine(self, button: Button, body: Body, event: SlackEvent) -> None:
        """Stop or resume the person's own agent; the channel comes from the database, not from the button."""
        owned = await self.context.views.list_by_owner("slack", event.workspace, event.person)
        agent = next((agent for agent in owned if agent.id == AgentId(button.subject)), None)
        if agent is None or agent.channel != home_channel(body["actions"][0]):
            raise NotFound("agent", "of yours by this button")
        in_channel = replace(event, channel=agent.channel.channel)
        origin = await self.context.origin(in_channel)
        await self.context.actions.press(button, FormInput(), origin)

    async def _turn_over(self, opening: ViewButton, view: Body, event: SlackEvent) -> None:
        """Show another part of a long text in the open view."""
        place = place_of(view)
        agent, turn = await self.context.views.turn(place.scope, TurnId(opening.subject))
        shown = views.show_all(turn_card(agent, turn), place, opening.part)
        await self.context.replace(event.workspace, view["id"], shown)

    async def _find_proposal(self, agent: Agent) -> tuple[Agent, Turn] | None:
        if not isinstance(agent.status, Awaiting):
            return None
        turn = await self.context.views.newest_turn(agent.channel, agent.id)
        return (agent, turn) if turn else None
