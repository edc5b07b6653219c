"""Reads the replies of a Slack thread since a time, for the catch-up."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapters.chat.catchup import retry_while_busy
from adapters.slack.inbound.context import SlackContext
from adapters.slack.inbound.inbound_event import Body
from adapters.slack.inbound.messages import SlackMessageListener
from agent_core.model.agent import Agent

PAGE_SIZE, MAX_PAGES = 200, 50


@dataclass(frozen=True, slots=True)
class SlackThreadReader:
    """Passes the replies of a thread to the listener, oldest first."""

    context: SlackContext
    messages: SlackMessageListener

    async def read(self, agent: Agent, since: datetime) -> None:
        """Read one thread; raise SurfaceError if Slack cannot provide it."""
        async for message in self._replies(agent, since):
            await self.messages.take({**message, "channel": agent.channel.channel}, agent.channel.workspace)

    async def _replies(self, agent: Agent, since: datetime) -> AsyncIterator[Body]:
        cursor = ""
        for _ in range(MAX_PAGES):
            page = await self._page(agent, since, cursor)
            for message in page.get("messages") or ():
                yield message
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def _page(self, agent: Agent, since: datetime, cursor: str) -> Any:
        thread = agent.thread.thread if agent.thread else ""
        asked: dict[str, Any] = {"ts": thread, "oldest": f"{since.timestamp():.6f}", "limit": PAGE_SIZE}
        asked |= {"cursor": cursor} if cursor else {}
        return await retry_while_busy(
            lambda: self.context.calls.ask(
                agent.channel.workspace,
                lambda client: client.conversations_replies(channel=agent.channel.channel, **asked),
                place="conversations.replies",
            ),
            self.context.clock,
        )
