"""Reads the messages of a Discord thread since a time, for the catch-up."""

from dataclasses import dataclass
from datetime import datetime

import discord

from adapters.chat.catchup import retry_while_busy
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.messages import DiscordMessageListener
from agent_core.model.agent import Agent

MAX_MESSAGES = 5_000


@dataclass(frozen=True, slots=True)
class DiscordThreadReader:
    """Passes the messages of a thread to the listener, oldest first."""

    context: DiscordContext
    messages: DiscordMessageListener

    async def read(self, agent: Agent, since: datetime) -> None:
        """Read one thread; raise SurfaceError if Discord cannot provide it."""
        sending, thread = self.context.surface.sending, int(agent.thread.thread) if agent.thread else 0

        async def history() -> list[discord.Message]:
            place = await sending.channel(thread)
            if not isinstance(place, discord.Thread):
                return []
            return [message async for message in place.history(limit=MAX_MESSAGES, after=since, oldest_first=True)]

        for message in await retry_while_busy(lambda: sending.calls.ask(history), self.context.clock):
            await self.messages.take(message)
