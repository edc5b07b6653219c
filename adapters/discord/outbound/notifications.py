"""Reminders in an agent's thread, and direct messages to those who asked for them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import discord

from adapters.discord.api.client import UNKNOWN_MESSAGE, DiscordRefused
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.notification_messages import (
    allowed_mentions,
    direct_message,
    ended_message,
    reminder_message,
)
from adapters.discord.outbound.posted import DiscordSender
from agent_core.errors import ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import Notification
from agent_core.model.turn import Turn

MENTION = re.compile(r"<@!?(\d{1,20})>|<@(&\d{1,20})>|(\d{15,20})")
GONE = (UNKNOWN_MESSAGE, 10003)  # an unknown message or channel


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordNotifications:
    """Implements `Notifications`. An address is `PLACE/MESSAGE`."""

    sending: DiscordSender
    continuous_limit: int | None = None

    def find_mention(self, workspace: str, typed: str) -> str:
        """Understands a mention as Discord writes it, of a person or a role, and a person's id."""
        found = MENTION.fullmatch(typed)
        return next(filter(None, found.groups()), "") if found else ""

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Sequence[str], *, may_exist: bool) -> str:
        if agent.thread is None:
            raise ThreadGone("The agent has no thread.")
        message = reminder_message(agent, turn, mentions)
        there = int(agent.thread.thread)
        return await self._post(there, message, _nonce_of(agent), agent, mentions, may_exist=may_exist)

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        message = direct_message(agent, turn, continuous_limit=self.continuous_limit)
        there = await self._direct_channel(person)
        return await self._post(there, message, _nonce_of(agent, person), agent, (), may_exist=may_exist)

    async def _find(self, agent: Agent, person: str) -> str:
        """The address of a notification about this wait, or "" if none was posted."""
        thread = int(agent.thread.thread) if agent.thread else 0
        place = await self._direct_channel(person) if person else thread
        found = await self.sending.find_posted(place, _nonce_of(agent, person), agent.since) if place else 0
        return f"{place}/{found}" if found else ""

    async def take_back(self, agent: Agent, turn: Turn | None, notification: Notification) -> None:
        address = notification.address or await self._find(agent.when_called(notification), notification.to)
        if not address:
            return
        place, _, posted = address.partition("/")
        try:
            if notification.to:
                await self.sending.edit(int(place), int(posted), ended_message(agent, turn), "")
            else:
                await self.sending.delete(int(place), int(posted))
        except DiscordRefused as refused:
            if refused.code not in GONE:
                raise

    async def _direct_channel(self, person: str) -> int:
        client = self.sending.calls.client
        await self.sending.calls.ensure_login()
        return (await self.sending.calls.ask(lambda: client.create_dm(discord.Object(int(person))))).id

    async def _post(
        self,
        place: int,
        message: DiscordMessage,
        nonce: str,
        agent: Agent,
        mentions: Sequence[str],
        *,
        may_exist: bool,
    ) -> str:
        """Post the message, unless it may have been posted before and was; return its address."""
        found = await self.sending.find_posted(place, nonce, agent.since) if may_exist else 0
        found = found or await self.sending.post(place, message, nonce, allowed_mentions(mentions))
        return f"{place}/{found}"


def _nonce_of(agent: Agent, person: str = "") -> str:
    """Identifies one reminder of one wait, or the direct message of a wait among those to one person."""
    return f"{agent.id} {agent.since:%y%m%d%H%M%S} {'dm' if person else agent.reminded}"
