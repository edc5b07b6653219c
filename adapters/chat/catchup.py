"""Catch-up: reads the replies that were written while Signoff was not connected, once for every active thread."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from adapters.chat.services import ChatServices
from agent_core.errors import DatabaseAway, SurfaceBusy, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.origin import SurfaceName
from agent_core.ports.clock import Clock

T = TypeVar("T")
logger = logging.getLogger(__name__)

OVERLAP = timedelta(minutes=5)  # messages are handled only once, so an overlap is harmless; clocks differ
FIRST_READ_SPAN = timedelta(days=1)
MAX_REST = timedelta(days=7)  # the time for which threads of agents at rest are still read
HEARTBEAT_SECONDS = 60.0
RETRY_SECONDS = 20.0
MAX_TRIES = 30


@dataclass(slots=True, kw_only=True)
class CatchUp:
    """Reads missed replies, and records up to which time each workspace was read.

    `read_thread`: handles a thread's replies since a time.
    `behind`: the number of unfinished calls of `read_all`; while it is above 0, `keep_time` must not be called.
    """

    surface: SurfaceName
    context: ChatServices
    read_thread: Callable[[Agent, datetime], Awaitable[None]]
    behind: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def read_all(self, workspaces: Callable[[], Awaitable[Iterable[str]]]) -> Coroutine[Any, Any, None]:
        """Count one more unfinished reading in `behind`, and return the coroutine that reads the workspaces.

        The coroutine starts again after DatabaseAway.
        """
        self.behind += 1
        return self._read_all(workspaces)

    async def read(self, workspace: str) -> None:
        """Read every active thread since the recorded time (without one, since a day ago); record the new time."""
        async with self.lock:
            begun = self.context.clock.now()
            received_until = await self.context.inbound_log.load_received_until(self.surface, workspace)
            since = (received_until or begun - FIRST_READ_SPAN) - OVERLAP
            for agent in await self.context.views.list_with_thread(self.surface, begun - MAX_REST):
                if agent.channel.workspace == workspace:
                    await self._read_or_log(agent, since)
            await self.context.inbound_log.save_received_until(self.surface, workspace, begun)

    async def keep_time(self, workspace: str) -> None:
        """Record that the workspace is read up to now."""
        async with self.lock:
            await self.context.inbound_log.save_received_until(self.surface, workspace, self.context.clock.now())

    async def _read_all(self, workspaces: Callable[[], Awaitable[Iterable[str]]]) -> None:
        while True:
            try:
                for workspace in await workspaces():
                    await self.read(workspace)
            except DatabaseAway:
                await self.context.clock.sleep(RETRY_SECONDS)
            else:
                self.behind -= 1
                return

    async def _read_or_log(self, agent: Agent, since: datetime) -> None:
        try:
            await self.read_thread(agent, since)
        except SurfaceError as fault:
            logger.warning("thread not read", extra={"agent": agent.id, "why": str(fault)[:200]})


async def retry_while_rate_limited(ask: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Call `ask`; on SurfaceBusy wait as the platform says (or 1 s) and retry. Raise it after MAX_TRIES calls."""
    for _ in range(MAX_TRIES):
        try:
            return await ask()
        except SurfaceBusy as busy:
            await clock.sleep(busy.retry_after or 1.0)
    raise SurfaceBusy("The platform was rate limited for too long")
