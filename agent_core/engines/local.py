"""All agents in one process: a task for each agent at work, and a sweep that repairs any lost wake."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from agent_core.errors import DatabaseAway
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId
from agent_core.ports.database import Database
from agent_core.ports.world import Clock

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0

Advance = Callable[[AgentId], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class LocalEngine:
    """Engine and Waker in one. An agent woken while it is advanced is advanced once more afterwards.

    With `only`, the sweep looks after these, and whom they wake.
    """

    database: Database
    clock: Clock
    surfaces: Sequence[SurfaceName]
    only: set[AgentId] | None = None
    sweep_seconds: float = SWEEP_SECONDS
    _woken: dict[AgentId, None] = field(default_factory=dict)
    _at_work: dict[AgentId, asyncio.Task[None]] = field(default_factory=dict)
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self, agent_id: AgentId) -> None:
        """Have the agent advanced soon, and once more if it is being advanced now."""
        if self.only is not None:
            self.only.add(agent_id)
        self._woken[agent_id] = None
        self._bell.set()

    def interrupt(self, agent_id: AgentId) -> None:
        """Cancel what runs for the agent, then have it advanced."""
        if task := self._at_work.get(agent_id):
            task.cancel()
        self.wake(agent_id)

    async def run(self, advance: Advance) -> None:
        """Advance woken agents until cancelled; whatever is due at the start is woken first."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep(), name="sweep")
            while True:
                await self._bell.wait()
                self._bell.clear()
                for agent_id in [agent_id for agent_id in self._woken if agent_id not in self._at_work]:
                    del self._woken[agent_id]
                    task = group.create_task(_advance(advance, agent_id), name=f"agent {agent_id}")
                    self._at_work[agent_id] = task
                    task.add_done_callback(partial(self._rest, agent_id))

    def _rest(self, agent_id: AgentId, _task: asyncio.Task[None]) -> None:
        self._at_work.pop(agent_id, None)
        self._bell.set()

    async def _sweep(self) -> None:
        while True:
            for agent_id in await self._due():
                if agent_id not in self._at_work:
                    self.wake(agent_id)
            await self.clock.sleep(self.sweep_seconds)

    async def _due(self) -> Sequence[AgentId]:
        try:
            async with self.database.begin() as work:
                due = await work.agents.due(self.surfaces, self.clock.now())
        except DatabaseAway:
            logger.warning("database away, trying again")
            return ()
        return due if self.only is None else [agent_id for agent_id in due if agent_id in self.only]


async def _advance(advance: Advance, agent_id: AgentId) -> None:
    await advance(agent_id)
