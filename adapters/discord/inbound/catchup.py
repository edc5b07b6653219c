"""Replies that were written while nobody listened: read once for every live thread, on start and after a gap."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import discord

from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.messages import DiscordMessageListener
from agent_core.errors import SurfaceBusy, SurfaceError
from agent_core.model.agent import Agent

logger = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=5)  # what was taken already is not taken twice, and clocks differ
FIRST_LOOK = timedelta(days=1)
AT_REST = timedelta(days=7)  # so long a thread that came to rest is still read
BEAT = 60.0
MOST_READ, MOST_TRIES = 5_000, 30


@dataclass(slots=True)
class DiscordCatchUp:
    """Knows until when every server was heard, and reads the rest."""

    context: DiscordContext
    words: DiscordMessageListener
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, guild: str) -> None:
        """Read the replies of every live thread since the server was last heard, oldest first in each."""
        async with self.lock:
            begun = self.context.clock.now()
            heard = await self.context.inbound_log.until("discord", guild) or begun - FIRST_LOOK
            for agent in await self.context.actions.views.list_with_thread("discord", begun - AT_REST):
                if agent.channel.workspace == guild and agent.thread and not agent.parent:
                    await self._read_thread(agent, int(agent.thread.thread), heard - OVERLAP)
            await self.context.inbound_log.note("discord", guild, begun)

    async def keep_time(self, guild: str) -> None:
        """Note that the server is heard now."""
        async with self.lock:
            await self.context.inbound_log.note("discord", guild, self.context.clock.now())

    async def _read_thread(self, agent: Agent, thread: int, since: datetime) -> None:
        try:
            for message in await self._replies(thread, since):
                await self.words.take(message)
        except SurfaceError as fault:
            logger.warning("thread not read", extra={"agent": agent.id, "why": str(fault)[:200]})

    async def _replies(self, thread: int, since: datetime) -> list[discord.Message]:
        sending = self.context.surface.sending

        async def read() -> list[discord.Message]:
            place = await sending.channel(thread)
            if not isinstance(place, discord.Thread):
                return []
            return [message async for message in place.history(limit=MOST_READ, after=since, oldest_first=True)]

        for _ in range(MOST_TRIES):
            try:
                return await sending.calls.ask(read)
            except SurfaceBusy as busy:
                await self.context.clock.sleep(busy.retry_after or 1.0)
        raise SurfaceBusy("Discord was busy for too long")
