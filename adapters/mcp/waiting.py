"""Waits until an agent needs people or is at rest. Woken by changes that the engine and other processes tell of."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.service.reading.views import AgentViews

# The ids of agents that changed, and None as a heartbeat, at which the agent is read anyway. Ends at a shutdown.
Changes: TypeAlias = Callable[[], AsyncGenerator[AgentId | None, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWaits:
    """Reads the agent at the beginning of a wait and after each change of it."""

    views: AgentViews
    changes: Changes

    async def wait(
        self, channel: ChannelScope, agent_id: AgentId, is_over: Callable[[Agent], bool], seconds: float
    ) -> Agent:
        """The agent as soon as `is_over` is true of it, or as it is after so many seconds or at a shutdown.

        Raise NotFound if it is deleted meanwhile.
        """
        changes = self.changes()
        # It listens before the agent is read, so that no change after that read is missed.
        next_change = asyncio.ensure_future(_next(changes))
        try:
            await asyncio.sleep(0)  # noqa: TID251 - a task begins only then, and reading may end without a pause
            async with asyncio.timeout(seconds):
                while not is_over(agent := await self.views.agent(channel, agent_id)):
                    while (changed := await next_change) not in (None, agent_id, CLOSED):
                        next_change = asyncio.ensure_future(_next(changes))
                    if changed == CLOSED:
                        return agent
                    next_change = asyncio.ensure_future(_next(changes))
                return agent
        except TimeoutError:
            return await self.views.agent(channel, agent_id)
        finally:
            next_change.cancel()
            await asyncio.gather(next_change, return_exceptions=True)
            await changes.aclose()


CLOSED = "closed"


async def _next(changes: AsyncGenerator[AgentId | None, None]) -> str | None:
    return await anext(changes, CLOSED)
