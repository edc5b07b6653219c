"""The in-process engine: one asyncio task for each active agent, and a periodic sweep for lost wakes."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agent_core.errors import DatabaseAway
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
CANCEL_SECONDS = 5.0  # for what a cancelled step saves and shows

Advance = Callable[[AgentId], Coroutine[Any, Any, None]]


@dataclass(slots=True, kw_only=True)
class LocalEngine:
    """Implements Engine and Waker. An agent woken while it is being advanced is advanced again afterwards.

    `only`: if given, the sweep considers only these agents and those woken since.
    """

    database: Database
    clock: Clock
    surfaces: Sequence[SurfaceName]
    only: set[AgentId] | None = None
    sweep_seconds: float = SWEEP_SECONDS
    _woken: dict[AgentId, None] = field(default_factory=dict)
    _running: dict[AgentId, asyncio.Task[None]] = field(default_factory=dict)
    _wake_event: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False

    @property
    def in_progress(self) -> int:
        """How many agents are being advanced."""
        return len(self._running)

    def wake(self, agent_id: AgentId) -> None:
        if self.only is not None:
            self.only.add(agent_id)
        self._woken[agent_id] = None
        self._wake_event.set()

    def interrupt(self, agent_id: AgentId) -> None:
        if task := self._running.get(agent_id):
            task.cancel()
        self.wake(agent_id)

    async def run(self, advance: Advance) -> None:
        """Advance woken and due agents until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep(), name="sweep")
            while True:
                await self._wake_event.wait()
                self._wake_event.clear()
                for agent_id in self._startable():
                    del self._woken[agent_id]
                    task = group.create_task(advance(agent_id), name=f"agent {agent_id}")
                    self._running[agent_id] = task
                    task.add_done_callback(partial(self._finished, agent_id))

    def _startable(self) -> list[AgentId]:
        """The woken agents that can be advanced now: none while the engine drains."""
        return [] if self._is_draining else [agent_id for agent_id in self._woken if agent_id not in self._running]

    async def drain(self, seconds: float) -> int:
        self._is_draining = True
        running = tuple(self._running.values())
        if not running:
            return 0
        await asyncio.wait(running, timeout=seconds)
        late = [task for task in running if not task.done()]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)
        return len(late)

    def _finished(self, agent_id: AgentId, _task: asyncio.Task[None]) -> None:
        self._running.pop(agent_id, None)
        self._wake_event.set()

    async def _sweep(self) -> None:
        while True:
            for agent_id in await self._due():
                if agent_id not in self._running:
                    self.wake(agent_id)
            await self.clock.sleep(self.sweep_seconds)

    async def _due(self) -> Sequence[AgentId]:
        try:
            async with self.database.begin() as work:
                due = await work.agents.due(self.surfaces, self.clock.now())
        except DatabaseAway:
            logger.warning("database away, trying again")
            return ()
        except Exception:  # the sweep must not end: it is what finds lost work
            logger.exception("sweep failed, trying again")
            return ()
        return due if self.only is None else [agent_id for agent_id in due if agent_id in self.only]
