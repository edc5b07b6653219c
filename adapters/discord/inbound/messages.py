"""Discord's side of `ThreadListener`: reads messages of agents' threads (also missed ones), reacts, answers there."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import discord

from adapters.chat.agent_messages import choice_screen
from adapters.chat.catchup import retry_while_rate_limited
from adapters.chat.messages import Sign, ThreadListener
from adapters.discord.api.client import DiscordRefused
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.downloads import fetch_file
from adapters.discord.inbound.inbound_event import thread_of, written_by
from adapters.discord.inbound.shared_content import read_typed, shared_text
from adapters.discord.outbound.answer_messages import answer_message, text_message
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.posted import files_of, ready
from adapters.screens.buttons import Button
from adapters.typed.answers import Answer
from adapters.typed.typed_text import TypedText
from agent_core.errors import NotFound, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin

logger = logging.getLogger(__name__)

REACTIONS: dict[Sign, str] = {"kept": "👀", "decided": "✅", "asked": "💬"}
MAX_MESSAGES = 5_000
PERSON_MESSAGE_TYPES = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordThreadMessage:
    """A message in an agent's thread; the answer goes to the same thread."""

    context: DiscordContext
    agent: Agent
    message: discord.Message
    origin: Origin
    line: TypedText

    @property
    def written_at(self) -> datetime:
        return self.message.created_at

    async def react(self, sign: Sign) -> None:
        """Add the reaction, unless the message already has one of the bot; a refusal by Discord is only logged."""
        if any(reaction.me for reaction in self.message.reactions):
            return
        try:
            await self.context.surface.sending.calls.ask(lambda: self.message.add_reaction(REACTIONS[sign]))
        except SurfaceError as fault:
            logger.info("no reaction", extra={"why": str(fault)[:200]})

    async def tell(self, said: str) -> None:
        await self._answer(text_message(said))

    async def give(self, answer: Answer) -> None:
        await self._answer(answer_message(answer))

    async def offer(self, said: str, buttons: Sequence[Button]) -> None:
        """Answer with buttons; the answer is deleted when they are of no use any more."""
        try:
            agent = await self._find_offering(buttons[0])
        except NotFound:  # it was deleted meanwhile
            return
        if sent := await self._answer(draw(choice_screen(said, buttons))):
            self.context.surface.offers.remember(agent, sent.channel.id, sent.id)

    async def _find_offering(self, button: Button) -> Agent:
        """The agent as it is now: that of the thread, or its helper."""
        views, channel = self.context.views, self.origin.channel
        if button.verb == "resume":
            return await views.agent(channel, AgentId(button.subject))
        return (await views.turn(channel, TurnId(button.subject)))[0]

    async def _answer(self, said: DiscordMessage) -> discord.Message | None:
        try:
            return await self.context.surface.sending.calls.ask(
                lambda: self.message.reply(view=ready(said), files=files_of(said), mention_author=False)
            )
        except SurfaceError as fault:
            logger.warning("not answered", extra={"why": str(fault)[:200]})
            return None


@dataclass(frozen=True, slots=True)
class DiscordMessageListener(ThreadListener):
    """Handles every message in an agent's thread.

    Without the Message Content intent messages arrive empty and are ignored.
    """

    context: DiscordContext

    async def take(self, message: discord.Message) -> None:
        """Handle a message if it is in an agent's thread."""
        thread = thread_of(message.guild.id if message.guild else None, message.channel)
        if thread is None or not is_from_person(message):
            return
        agent = await self.context.views.in_thread(thread)
        if agent:
            origin = written_by(message, await self._author(message))
            await self._to_agent(agent, message, origin)

    async def _to_agent(self, agent: Agent, message: discord.Message, origin: Origin) -> None:
        line, files = await read_typed(message)
        said = DiscordThreadMessage(context=self.context, agent=agent, message=message, origin=origin, line=line)
        await self.take_shared(agent, said, shared_text(message))
        forwarded = [file for snapshot in message.message_snapshots for file in snapshot.attachments]
        for file in (*files, *forwarded) if await self.take_text(agent, said) else ():
            await self.take_file(agent, said, str(file.id), fetch_file(file), is_forwarded=file in forwarded)
        self.context.surface.standing.forget_files(agent)

    async def read_thread(self, agent: Agent, since: datetime) -> None:
        """Handle the messages of a thread, oldest first; raise SurfaceError if Discord cannot provide them."""
        sending, thread = self.context.surface.sending, int(agent.thread.thread) if agent.thread else 0

        async def history() -> list[discord.Message]:
            place = await sending.channel(thread)
            if not isinstance(place, discord.Thread):
                return []
            return [message async for message in place.history(limit=MAX_MESSAGES, after=since, oldest_first=True)]

        for message in await retry_while_rate_limited(lambda: sending.calls.ask(history), self.context.clock):
            await self.take(message)

    async def _author(self, message: discord.Message) -> discord.User | discord.Member:
        """The author as a member of the server, if they still are one."""
        guild = message.guild
        if isinstance(message.author, discord.Member) or guild is None:
            return message.author
        try:
            return await self.context.surface.sending.calls.ask(lambda: guild.fetch_member(message.author.id))
        except DiscordRefused:
            return message.author


def is_from_person(message: discord.Message) -> bool:
    """Whether a person wrote the message: not a bot, a webhook or a system message."""
    return not message.author.bot and message.webhook_id is None and message.type in PERSON_MESSAGE_TYPES
