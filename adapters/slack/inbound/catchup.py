"""Replies that were written while nobody listened: read once for every live thread, on start and after a reconnect."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.inbound_event import Body
from adapters.slack.inbound.messages import SlackMessageListener
from agent_core.errors import SurfaceBusy, SurfaceError
from agent_core.model.agent import Agent

logger = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=5)  # what was taken already is not taken twice, and clocks differ
FIRST_LOOK = timedelta(days=1)
AT_REST = timedelta(days=7)  # so long a thread that came to rest is still read
BEAT = 60.0
PAGE, MOST_PAGES, MOST_TRIES = 200, 50, 30


@dataclass(slots=True)
class SlackCatchUp:
    """Knows until when every workspace was heard, and reads the rest."""

    context: SlackContext
    words: SlackMessageListener
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, workspace: str) -> None:
        """Read the replies of every live thread since the workspace was last heard, oldest first in each."""
        async with self.lock:
            begun = self.context.clock.now()
            heard = await self.context.inbound_log.until("slack", workspace) or begun - FIRST_LOOK
            for agent in await self.context.actions.views.list_with_thread("slack", begun - AT_REST):
                if agent.channel.workspace == workspace:
                    await self._read_thread(agent, heard - OVERLAP)
            await self.context.inbound_log.note("slack", workspace, begun)

    async def keep_time(self, workspace: str) -> None:
        """Note that the workspace is heard now."""
        async with self.lock:
            await self.context.inbound_log.note("slack", workspace, self.context.clock.now())

    async def _read_thread(self, agent: Agent, since: datetime) -> None:
        try:
            async for message in self._replies(agent, since):
                await self.words.take({**message, "channel": agent.channel.channel}, agent.channel.workspace)
        except SurfaceError as fault:
            logger.warning("thread not read", extra={"agent": agent.id, "why": str(fault)[:200]})

    async def _replies(self, agent: Agent, since: datetime) -> AsyncIterator[Body]:
        cursor = ""
        for _ in range(MOST_PAGES):
            page = await self._page(agent, since, cursor)
            for message in page.get("messages") or ():
                yield message
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def _page(self, agent: Agent, since: datetime, cursor: str) -> Any:
        thread = agent.thread.thread if agent.thread else ""
        asked: dict[str, Any] = {"ts": thread, "oldest": f"{since.timestamp():.6f}", "limit": PAGE}
        asked |= {"cursor": cursor} if cursor else {}
        for _ in range(MOST_TRIES):
            try:
                return await self.context.calls.ask(
                    agent.channel.workspace,
                    lambda client: client.conversations_replies(channel=agent.channel.channel, **asked),
                    place="conversations.replies",
                )
            except SurfaceBusy as busy:
                await self.context.clock.sleep(busy.retry_after or 1.0)
        raise SurfaceBusy("Slack was busy for too long")
