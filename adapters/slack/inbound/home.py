"""Publishes the Home tab (what a person may decide, their agents), and handles clicks there and in views."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from adapters.chat.refusals import RefusedAction, attempt
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.cards import turn_card
from adapters.screens.forms import reason_form
from adapters.slack.inbound.answering import answer_view
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.inbound_event import Body, SlackEvent, of_event, of_press
from adapters.slack.inbound.prompts import SlackPrompts
from adapters.slack.inbound.submitted_forms import FormContext, home_channel, place_of
from adapters.slack.outbound import views
from adapters.slack.outbound.controls import parse_action
from adapters.slack.outbound.forms import agent_view, draw_form
from adapters.slack.outbound.menus import chosen_prompt, chosen_template
from adapters.slack.outbound.message import link_to
from adapters.typed.actions import FormInput
from agent_core.errors import NotAllowed
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.service.reading.approval_queue import WaitingAgent


@dataclass(frozen=True, slots=True)
class HomeTab:
    """Shows people what they may decide and their own agents, and handles clicks on the tab and in open views."""

    context: SlackContext

    async def on_opened(self, body: Body, workspace: str) -> None:
        if body["event"].get("tab") == "home":
            self.context.soon(self.publish(of_event(body, workspace)))

    async def publish(self, event: SlackEvent) -> None:
        owned = await self.context.views.list_by_owner("slack", event.workspace, event.person)
        channels, fault = await self._list_channels(event)
        own = {agent.channel.channel for agent in owned if agent.channel.channel.startswith("D")}
        mine = [agent for agent in owned if agent.channel.channel in channels | own]
        mine.sort(key=lambda agent: agent.since, reverse=True)
        view = views.home(mine, await self._list_waiting(event, channels | own), link_to, fault=fault)
        await self.context.calls.ask(
            event.workspace,
            lambda client: client.views_publish(user_id=event.person, view=view),
            place=f"home/{event.person}",
        )

    async def press(self, body: Body, workspace: str) -> None:
        """Handle a click on the tab, or in a view that shows a turn."""
        event = of_press(body, workspace)
        if isinstance(refusal := await attempt(self._carry_out(body, event)), RefusedAction):
            said = views.sentence_view("Not done", refusal.text)
            if body["view"].get("type") == "home":
                self.context.soon(self.context.open(event, said))
                self.context.soon(self.publish(event))
            else:
                self.context.soon(self.context.replace(event.workspace, body["view"]["id"], said))

    async def _carry_out(self, body: Body, event: SlackEvent) -> None:
        if key := chosen_template(body["actions"][0]):
            await self._fill_in(key, body["view"], event)
        elif key := chosen_prompt(body["actions"][0]):
            await SlackPrompts(self.context).choose(key, body["view"], event)
        else:
            await self._press(body, event)

    async def _press(self, body: Body, event: SlackEvent) -> None:
        is_on_tab = body["view"].get("type") == "home"
        match parse_action(body["actions"][0]):
            case ViewButton("new agent"):
                form = await self.context.with_starters(agent_view(None, None, ""), None)
                self.context.soon(self.context.open(event, form))
            case ViewButton("show all") as opening if is_on_tab:
                await self._show_all(opening, body, event)
            case ViewButton("show all") as opening:
                await self._turn_over(opening, body["view"], event)
            case Button("reject") as button:
                await self._ask_reason(button, body, event)
            case Button("answer") as button:
                form = await answer_view(self.context, button, await self._origin(body, event))
                self.context.soon(self.context.open(event, form))
            case Button(
                "stop" | "resume" | "revoke" | "approve" | "run again" | "it ran" | "skip" | "decline"
            ) as button:
                await self.context.actions.press(button, FormInput(), await self._origin(body, event))
                self.context.soon(self.publish(event))
            case _:
                pass

    async def _fill_in(self, key: str, view: Body, event: SlackEvent) -> None:
        """Fill the open form for a new agent in from a template."""
        place = place_of(view)
        draft, last = self.context.templates.get(key).draft, None
        channel = place.scope if place.channel else None
        if channel:
            last = await self.context.service.lifecycle.load_agent_defaults(
                await self.context.origin_in(event, channel)
            )
        form = agent_view(draft, last, place.channel, thread=place.thread)
        form = await self.context.with_starters(form, channel, key)
        self.context.soon(self.context.replace(event.workspace, view["id"], form))

    async def _list_channels(self, event: SlackEvent) -> tuple[frozenset[str], str]:
        """The channels that the person is in; none, and what to say of it, if Slack does not tell."""
        try:
            return await self.context.directory.channels_of(event.workspace, event.person), ""
        except NotAllowed as fault:
            return frozenset(), f"Nothing can be listed: {fault}"

    async def _list_waiting(self, event: SlackEvent, channels: Set[str]) -> Sequence[WaitingAgent]:
        """What the person may decide in these channels, all of which they are in."""
        places = [ChannelScope("slack", event.workspace, channel) for channel in sorted(channels)]
        asked: dict[tuple[str, ...], tuple[Actor, list[ChannelScope]]] = {}
        for place in places:  # a person's groups count where the channel's policy names them
            by = await self.context.directory.actor(place, event.person)
            asked.setdefault(by.groups, (by, []))[1].append(place)
        queue = self.context.views.queue
        found = [await queue.list_agents(by, there) for by, there in asked.values()]
        waiting = sorted((agent for agents in found for agent in agents), key=lambda agent: agent.since)
        return await queue.list_waiting(waiting)

    async def _origin(self, body: Body, event: SlackEvent) -> Origin:
        """The person as a member of the channel of the agent whose button they clicked."""
        return await self.context.origin_in(event, home_channel(body["actions"][0]))

    async def _ask_reason(self, button: Button, body: Body, event: SlackEvent) -> None:
        origin = await self._origin(body, event)
        _, turn = await self.context.views.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
        form = draw_form(reason_form(turn, str(button)), origin.channel.key)
        self.context.soon(self.context.open(event, form))

    async def _show_all(self, opening: ViewButton, body: Body, event: SlackEvent) -> None:
        """Show the whole of what waits, in a view over the tab."""
        origin = await self._origin(body, event)
        card = turn_card(*await self.context.views.turn(origin.channel, TurnId(opening.subject)))
        place = FormContext(origin.channel.key, str(opening), "")
        self.context.soon(self.context.open(event, views.show_all(card, place, opening.part)))

    async def _turn_over(self, opening: ViewButton, view: Body, event: SlackEvent) -> None:
        """Show another part of a long text in the open view."""
        place = place_of(view)
        origin = await self.context.origin_in(event, place.scope)
        card = turn_card(*await self.context.views.turn(origin.channel, TurnId(opening.subject)))
        shown = views.show_all(card, place, opening.part)
        self.context.soon(self.context.replace(event.workspace, view["id"], shown))
