"""Messages in an agent's thread as calls of the services: replies and files."""

import logging
from dataclasses import dataclass
from datetime import datetime

import discord

from adapters.answers import Answer
from adapters.chat.messages import Sign, ThreadListener
from adapters.discord.api.client import DiscordRefused
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.downloads import fetch_file
from adapters.discord.inbound.inbound_event import thread_of, written_by
from adapters.discord.inbound.mentions import as_written
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.posted import files_of, ready
from adapters.discord.outbound.render import answer_message, kept_message, text_message
from agent_core.errors import SurfaceError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent

logger = logging.getLogger(__name__)

REACTIONS: dict[Sign, str] = {"kept": "👀", "decided": "✅", "asked": "💬"}
PERSON_MESSAGE_TYPES = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordThreadMessage:
    """A message in an agent's thread; it is answered in the thread, for Discord has no other place."""

    context: DiscordContext
    agent: Agent
    message: discord.Message
    origin: Origin

    @property
    def text(self) -> str:
        """What was written, as people saw it."""
        return as_written(self.message)

    @property
    def written_at(self) -> datetime:
        """When it was written, by Discord's clock."""
        return self.message.created_at

    async def react(self, sign: Sign) -> None:
        """Show that it was heard, once; where Signoff may not react, it was heard all the same."""
        if any(reaction.me for reaction in self.message.reactions):
            return
        try:
            await self.context.surface.sending.calls.ask(lambda: self.message.add_reaction(REACTIONS[sign]))
        except SurfaceError as fault:
            logger.info("no reaction", extra={"why": str(fault)[:200]})

    async def tell(self, said: str) -> None:
        await self._answer(text_message(said))

    async def give(self, answer: Answer) -> None:
        """Answer with a text and its files."""
        await self._answer(answer_message(answer))

    async def offer_resume(self, said: str) -> None:
        """Answer with a sentence and the button Resume."""
        await self._answer(kept_message(self.agent, said))

    async def _answer(self, said: DiscordMessage) -> None:
        try:
            await self.context.surface.sending.calls.ask(
                lambda: self.message.reply(view=ready(said), files=files_of(said), mention_author=False)
            )
        except SurfaceError as fault:
            logger.warning("not answered", extra={"why": str(fault)[:200]})


@dataclass(frozen=True, slots=True)
class DiscordMessageListener(ThreadListener):
    """Takes every message for the agent whose thread it is in.

    Without the Message Content intent a message comes empty, and nothing is done.
    """

    context: DiscordContext

    async def take(self, message: discord.Message) -> None:
        """A message: for the agent whose thread it is in, or nothing."""
        thread = thread_of(message.guild.id if message.guild else None, message.channel)
        if thread is None or not is_from_person(message):
            return
        agent = await self.context.views.in_thread(thread)
        if agent:
            origin = written_by(message, await self._author(message))
            said = DiscordThreadMessage(context=self.context, agent=agent, message=message, origin=origin)
            files = message.attachments if await self.take_text(agent, said) else []
            for file in files:
                await self.take_file(agent, said, str(file.id), fetch_file(file))

    async def _author(self, message: discord.Message) -> discord.User | discord.Member:
        """Who wrote it as a member of the server, where they still are one."""
        guild = message.guild
        if isinstance(message.author, discord.Member) or guild is None:
            return message.author
        try:
            return await self.context.surface.sending.calls.ask(lambda: guild.fetch_member(message.author.id))
        except DiscordRefused:
            return message.author


def is_from_person(message: discord.Message) -> bool:
    """Whether somebody wrote this: no bot, no webhook, no notice of Discord's own."""
    return not message.author.bot and message.webhook_id is None and message.type in PERSON_MESSAGE_TYPES
