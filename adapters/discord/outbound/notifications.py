"""Sends and takes back Discord reminders in threads and direct messages, and makes both and their buttons.

The buttons of a direct message name the agent's channel: `dm:CHANNEL:BUTTON`, the channel's id in base 36.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import discord

from adapters.chat.agent_messages import DIRECT_VERBS, direct_screen, ended_screen, reminder_screen
from adapters.discord.api.client import UNKNOWN_MESSAGE, DiscordRefused
from adapters.discord.api.directory import MemberDirectory
from adapters.discord.outbound.draw import draw, mention_text
from adapters.discord.outbound.message import DiscordMessage, card_link, link_to
from adapters.discord.outbound.posted import DiscordSender
from adapters.screens.buttons import Button, foreign_button_error
from agent_core.errors import NotAllowed, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
OUR_DIRECT = re.compile(r"dm:(?P<channel>[0-9a-z]{1,13}):(?P<button>.+)")


def reminder_message(agent: Agent, turn: Turn | None, mentions: Sequence[str]) -> DiscordMessage:
    """One short message for the thread: who is called, what waits, and a link to the card."""
    return draw(reminder_screen(agent, turn, [each for each in mentions if mention_text(each)], _link(agent, turn)))


def allowed_mentions(mentions: Sequence[str]) -> discord.AllowedMentions:
    """Let a message mention these people and roles and nobody else, whatever it says."""
    ids = [each for each in mentions if mention_text(each)]
    people = [discord.Object(int(each)) for each in ids if not each.startswith("&")]
    roles = [discord.Object(int(each[1:])) for each in ids if each.startswith("&")]
    return discord.AllowedMentions(everyone=False, users=people, roles=roles, replied_user=False)


def direct_message(agent: Agent, turn: Turn | None, *, continuous_limit: int | None = None) -> DiscordMessage:
    """What a person decides on without opening the thread."""
    made = partial(DirectButton, agent.channel.channel)
    return draw(direct_screen(agent, turn, _link(agent, turn), made, continuous_limit=continuous_limit))


def ended_message(agent: Agent, turn: Turn | None) -> DiscordMessage:
    """What stands in place of a direct message when its wait is over."""
    return draw(ended_screen(agent, turn, _link(agent, turn)))


def parse_direct(custom_id: str) -> tuple[int, Button]:
    """The channel's id and the button of a `custom_id`; raise InvalidInput if Signoff did not make it."""
    found = OUR_DIRECT.fullmatch(custom_id)
    button = Button.parse(found["button"]) if found else None
    if found is None or button is None or button.verb not in (*DIRECT_VERBS, "resume"):
        raise foreign_button_error()
    return int(found["channel"], 36), button


@dataclass(frozen=True, slots=True)
class DirectButton:
    """A button in a direct message about an agent of this channel."""

    channel: str
    button: Button

    @property
    def label(self) -> str:
        return self.button.label

    @property
    def verb(self) -> str:
        return self.button.verb

    def __str__(self) -> str:
        number, digits = int(self.channel), ""
        while number:
            number, digit = divmod(number, 36)
            digits = DIGITS[digit] + digits
        return f"dm:{digits or '0'}:{self.button}"


def _link(agent: Agent, turn: Turn | None) -> str:
    return (card_link(agent.channel, turn.shown_as) if turn else "") or link_to(agent)


MENTION = re.compile(r"<@!?(\d{1,20})>|<@(&\d{1,20})>|(\d{15,20})")
GONE = (UNKNOWN_MESSAGE, 10003)  # an unknown message or channel


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordNotifications:
    """Implements `Notifications`. An address is `PLACE/MESSAGE`."""

    sending: DiscordSender
    members: MemberDirectory
    continuous_limit: int | None = None

    def find_mention(self, workspace: str, typed: str) -> str:
        """Understands a mention as Discord writes it, of a person or a role, and a person's id."""
        found = MENTION.fullmatch(typed)
        return next(filter(None, found.groups()), "") if found else ""

    async def find_approver(self, channel: ChannelScope, found: str) -> str:
        if not found.removeprefix("&").isdecimal():
            raise NotAllowed("name this person: it is no id of Discord.")
        if found.startswith("&"):
            return await self.members.role_name(channel, found)
        person = await self.members.ask(channel, Actor(id=found, display=found))
        if person.kind != "member":
            raise NotAllowed(f"let {person} approve: only full members who may write in this channel do.")
        return str(person)

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
