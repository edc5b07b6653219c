"""The engine of one process: an asyncio task for each agent that is advanced, and a sweep that finds lost work."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from agent_core.errors import DatabaseAway
from agent_core.model.ids import AgentId
from agent_core.ports.database import UnitOfWork
from agent_core.ports.engine import Advance, EngineParts

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
SWEEPS_BETWEEN_CHECKS = 10  # of agents with background programs, which another process may have stopped or deleted
MAX_UNSETTLED, UNSETTLED_TIME = 20, timedelta(seconds=30)
MAX_LOOKED_AT = 100  # helpers among them have no status line
SHOWING_SECONDS = 1.0  # the least time in which a drain shows what people did while it waited for commands
CANCEL_SECONDS = 4.0  # for what a cancelled step saves and shows


@dataclass(slots=True)
class LocalEngine:
    """Implements Engine. An agent woken while it is being advanced is advanced again afterwards."""

    parts: EngineParts
    _woken: dict[AgentId, None] = field(default_factory=dict)
    _running: dict[AgentId, asyncio.Task[None]] = field(default_factory=dict)
    _has_news: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False
    _start: Callable[[Sequence[AgentId]], None] = lambda _agent_ids: None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Do nothing: this engine has no connection of its own."""
        yield

    @property
    def workers(self) -> int:
        return 1

    @property
    def in_progress(self) -> int:
        return len(self._running)

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self._wake, agent_id))

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self._interrupt, agent_id))

    async def run(self, advance: Advance) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep(), name="sweep")
            self._start = partial(self._start_in, group, advance)
            while True:
                await self._has_news.wait()
                self._has_news.clear()
                if not self._is_draining:
                    self._start(tuple(self._woken))

    def hold(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Do nothing: there is no other process."""

    async def stand_by(self) -> None:
        await asyncio.Event().wait()  # there are no others

    async def drain(self, seconds: float) -> int:
        """See `Engine.drain`. What people did just before, or while a command ran, is shown: the loop drains too."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        self._start(tuple(self._woken))
        self._is_draining = True
        begun = tuple(self._running)
        late = await self._cancel_late(end - loop.time(), CANCEL_SECONDS)
        self._start([each for each in begun if each in self._woken])
        await self._cancel_late(max(SHOWING_SECONDS, end - loop.time()), SHOWING_SECONDS)
        return late

    async def _cancel_late(self, seconds: float, more: float) -> int:
        """Wait up to `seconds` for what runs, then cancel it and wait up to `more`; return how many were cancelled."""
        if not self._running:
            return 0
        _, late = await asyncio.wait(tuple(self._running.values()), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=more)
        return len(late)

    def _wake(self, agent_id: AgentId) -> None:
        self._woken[agent_id] = None
        self._has_news.set()

    def _interrupt(self, agent_id: AgentId) -> None:
        task = self._running.get(agent_id)
        if task and not task.cancelling():  # a second time would cut off what it saves at its end
            task.cancel()
        self._wake(agent_id)

    def _start_in(self, group: asyncio.TaskGroup, advance: Advance, agent_ids: Sequence[AgentId]) -> None:
        """Start a task for each of these agents that has none."""
        for agent_id in agent_ids:
            if agent_id not in self._running:
                del self._woken[agent_id]
                task = self._running[agent_id] = group.create_task(advance(agent_id), name=f"agent {agent_id}")
                task.add_done_callback(partial(self._finished, agent_id))

    def _finished(self, agent_id: AgentId, _task: asyncio.Task[None]) -> None:
        self._running.pop(agent_id, None)
        self._has_news.set()

    async def _sweep(self) -> None:
        sweeps, is_settled = 0, False
        while True:
            try:
                found = list(await self._list_due())
                if not is_settled:
                    found += await self._list_unsettled()
                    is_settled = True
                if sweeps % SWEEPS_BETWEEN_CHECKS == 0:
                    found += self.parts.list_with_programs()
                for agent_id in found:
                    if agent_id not in self._running:
                        self._wake(agent_id)
            except DatabaseAway:
                pass
            except Exception:  # the sweep must not end: it is what finds lost work
                logger.exception("sweep failed, trying again")
            sweeps += 1
            await self.parts.clock.sleep(SWEEP_SECONDS)

    async def _list_due(self) -> Sequence[AgentId]:
        with self.parts.telemetry.watch("sweep"):
            async with self.parts.database.begin() as work:
                return await work.agents.due(self.parts.surfaces, self.parts.clock.now())

    async def _list_unsettled(self) -> Sequence[AgentId]:
        """The agents whose status line may be an old one, at the start.

        The line is sent a moment after the save that it tells of, so they are those that changed last before the end.
        """
        async with self.parts.database.begin() as work:
            found = await work.agents.list_changed_last(self.parts.surfaces, MAX_LOOKED_AT)
        recent = [each.id for each in found if each.since >= found[0].since - UNSETTLED_TIME and not each.parent]
        return recent[:MAX_UNSETTLED]
