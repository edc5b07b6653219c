"""What people write in an agent's thread, service calls out: replies and files."""

import asyncio
import logging
import re
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import discord
from aiohttp import ClientError

from adapters.actions import takes_long
from adapters.answers import Answer
from adapters.discord.api.client import DiscordRefused
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.inbound_event import thread_of, written_by
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.posted import files_of, ready
from adapters.discord.outbound.render import answer_message, kept_message, text_message
from adapters.limited_replies import ReplyTooLong
from agent_core.errors import CommandError, InvalidInput, PersonError, SurfaceError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.seen_proposal import SeenProposal
from agent_core.service.uploads import MAX_UPLOAD_BYTES, too_large

logger = logging.getLogger(__name__)

KEPT, DECIDED, ASKED = "👀", "✅", "💬"
MENTION = re.compile(r"<(@[!&]?|#)(\d+)>")
WRITTEN = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True)
class DiscordMessageListener:
    """Takes every message once, in the order of its thread, whether it came alive or was read up on later.

    Without the Message Content intent a message comes empty, and nothing is done.
    """

    context: DiscordContext
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def take(self, message: discord.Message) -> None:
        """A message: for the agent whose thread it is in, or nothing."""
        thread = thread_of(message.guild.id if message.guild else None, message.channel)
        if thread is None or not is_from_person(message):
            return
        agent = await self.context.actions.views.in_thread(thread)
        if agent:
            await self._to_agent(agent, message, written_by(message, await self._author(message)))

    async def _to_agent(self, agent: Agent, message: discord.Message, origin: Origin) -> None:
        said = as_written(message)
        if takes_long(said):
            await self._ask(agent, said, message, origin)
        else:
            async with self.locks.setdefault(agent.id, asyncio.Lock()):
                if said and not await self._say(agent, said, message, origin):
                    return
        for file in message.attachments:
            await self._take_file(agent, file, message, origin)

    async def _author(self, message: discord.Message) -> discord.User | discord.Member:
        """Who wrote it as a member of the server, where they still are one."""
        guild = message.guild
        if isinstance(message.author, discord.Member) or guild is None:
            return message.author
        try:
            return await self.context.surface.sending.calls.ask(lambda: guild.fetch_member(message.author.id))
        except DiscordRefused:
            return message.author

    async def _say(self, agent: Agent, said: str, message: discord.Message, origin: Origin) -> bool:
        """Say it to the agent; a refused word is done with, so that read again it never meets a later proposal."""
        try:
            answer = await self.context.actions.say(agent.id, said, origin, SeenProposal(written_at=message.created_at))
        except PersonError as error:
            if await self.context.inbound_log.first_time(str(origin.delivery)):
                await self._answer(message, text_message(str(error)))
            return False
        if answer.is_wanted:
            await self._once(message, origin, answer_message(answer))
        else:
            await self._react(message, ASKED if answer.is_asked else KEPT if answer.kept else DECIDED)
            if answer.kept and answer.kept.agent.is_at_rest:
                await self._once(message, origin, kept_message(agent, answer.text))
        return True

    async def _ask(self, agent: Agent, said: str, message: discord.Message, origin: Origin) -> None:
        """Do what asks a model, once; that it was heard is shown at once."""
        if not await self.context.inbound_log.first_time(str(origin.delivery)):
            return
        await self._react(message, KEPT)
        try:
            seen = SeenProposal(written_at=message.created_at)
            answer = await self.context.actions.say(agent.id, said, replace(origin, delivery=None), seen)
        except PersonError as error:
            answer = Answer(str(error))
        await self._answer(message, answer_message(answer))

    async def _once(self, message: discord.Message, origin: Origin, said: DiscordMessage) -> None:
        if await self.context.inbound_log.first_time(f"{origin.delivery}/answer"):
            await self._answer(message, said)

    async def _take_file(
        self, agent: Agent, file: discord.Attachment, message: discord.Message, origin: Origin
    ) -> None:
        """Fetch a file and put it into the workspace; if this process dies meanwhile, the thread is read up on."""
        put = replace(origin, delivery=f"{origin.delivery}/{file.id}")
        try:
            path = await self.context.received.receive(agent.id, file.filename, await fetch_files(file), put)
        except (PersonError, CommandError) as error:
            await self._answer(message, text_message(str(error)))
            return
        if path:
            await self._react(message, KEPT)

    async def _react(self, message: discord.Message, sign: str) -> None:
        """Show that it was heard, once; where Signoff may not react, it was heard all the same."""
        if any(reaction.me for reaction in message.reactions):
            return
        try:
            await self.context.surface.sending.calls.ask(lambda: message.add_reaction(sign))
        except SurfaceError as fault:
            logger.info("no reaction", extra={"why": str(fault)[:200]})

    async def _answer(self, message: discord.Message, said: DiscordMessage) -> None:
        """Answer in the thread: what is typed there can be answered nowhere else."""
        try:
            await self.context.surface.sending.calls.ask(
                lambda: message.reply(view=ready(said), files=files_of(said), mention_author=False)
            )
        except SurfaceError as fault:
            logger.warning("not answered", extra={"why": str(fault)[:200]})


def is_from_person(message: discord.Message) -> bool:
    """Whether somebody wrote this: no bot, no webhook, no notice of Discord's own."""
    return not message.author.bot and message.webhook_id is None and message.type in WRITTEN


def as_written(message: discord.Message) -> str:
    """The text with mentions as they were shown; Signoff's own name is left out."""
    me = message.guild.me if message.guild else None
    names = {user.id: f"@{user.display_name}" for user in message.mentions}
    names |= {role.id: f"@{role.name}" for role in message.role_mentions}
    names |= {channel.id: f"#{channel.name}" for channel in message.channel_mentions}
    names |= {me.id: ""} if me else {}
    return MENTION.sub(lambda found: names.get(int(found[2]), found[0]), message.content).strip()


async def fetch_files(file: discord.Attachment) -> bytes:
    """The bytes of a file that somebody dropped; raise InvalidInput with a sentence where they cannot be had."""
    if file.size > MAX_UPLOAD_BYTES:
        raise too_large(file.filename)
    try:
        return await file.read()
    except ReplyTooLong:
        raise too_large(file.filename) from None
    except (discord.DiscordException, ClientError, OSError, TimeoutError) as fault:
        said = f"{file.filename} could not be fetched ({type(fault).__name__}). Drop it again."
        raise InvalidInput({"file": said}) from fault
