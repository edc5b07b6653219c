"""Handles clicks in Discord's direct messages about an agent that waits: decides, asks for a reason, redraws them."""

from dataclasses import dataclass
from typing import Any

import discord

from adapters.chat.refusals import RefusedAction, attempt
from adapters.discord.inbound.context import DiscordContext, acknowledge, open_form, tell
from adapters.discord.inbound.inbound_event import origin_of
from adapters.discord.outbound.forms import draw_form
from adapters.discord.outbound.notifications import DirectButton, parse_direct
from adapters.screens.buttons import Button
from adapters.screens.forms import reason_form
from adapters.typed.actions import FormInput
from agent_core.errors import AlreadyDecided, ChangedSinceShown, NotFound, NotPossible
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.records.notification import Notification


@dataclass(frozen=True, slots=True)
class DiscordDirectListener:
    """Handles clicks in direct messages, and the forms that they open. Discord is asked each time who may decide."""

    context: DiscordContext

    async def press(self, interaction: discord.Interaction[Any], said: str) -> None:
        """Carry out one click; if it is refused, tell the person why."""
        if isinstance(refusal := await attempt(self._carry_out(said, interaction)), RefusedAction):
            await tell(interaction, refusal.on_card)
        await acknowledge(interaction)

    async def reject(self, interaction: discord.Interaction[Any], about: str, reason: str) -> None:
        """Carry out the form of a rejection, whose `custom_id` names the button that opened it."""
        channel, button = parse_direct(about)
        await self._decide(button, FormInput(text=reason), interaction, await self._origin(channel, interaction))

    async def _carry_out(self, said: str, interaction: discord.Interaction[Any]) -> None:
        channel, button = parse_direct(said)
        origin = await self._origin(channel, interaction)
        if button.verb == "reject":
            seen = self.context.views
            _, turn = await seen.open_to(origin.by, origin.channel, TurnId(button.subject), button.shown)
            form = reason_form(turn, str(DirectButton(origin.channel.channel, button)))
            await open_form(interaction, draw_form(form))
        else:
            await self._decide(button, FormInput(), interaction, origin)

    async def _origin(self, channel: int, interaction: discord.Interaction[Any]) -> Origin:
        """The person with their present rights in the agent's channel; raise NotFound if they left the server."""
        place = self.context.surface.sending.calls.client.get_channel(channel)
        if not isinstance(place, discord.abc.GuildChannel):
            raise NotFound("channel", str(channel))
        scope = ChannelScope("discord", str(place.guild.id), str(place.id))
        person = Actor(id=str(interaction.user.id), display=interaction.user.display_name)
        by = await self.context.surface.members.ask(scope, person)
        return Origin(by=by, channel=scope, delivery=origin_of(interaction).delivery)

    async def _decide(
        self, button: Button, filled: FormInput, interaction: discord.Interaction[Any], origin: Origin
    ) -> None:
        try:
            await self.context.actions.press(button, filled, origin)
        except (AlreadyDecided, ChangedSinceShown, NotPossible):
            self.context.soon(self._redraw(button, interaction, origin))
            raise

    async def _redraw(self, button: Button, interaction: discord.Interaction[Any], origin: Origin) -> None:
        """Let an outdated direct message tell how its wait ended."""
        if interaction.message is None or interaction.channel is None:
            return
        address = f"{interaction.channel.id}/{interaction.message.id}"
        if button.verb == "resume":
            agent, turn = await self.context.views.agent(origin.channel, AgentId(button.subject)), None
        else:
            agent, turn = await self.context.views.turn(origin.channel, TurnId(button.subject))
        outdated = Notification(since=agent.since, to=str(interaction.user.id), address=address)
        await self.context.surface.notifications.take_back(agent, turn, outdated)
