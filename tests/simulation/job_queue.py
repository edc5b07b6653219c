"""A queue of jobs without a database: it delivers late, twice, and again beside a process that is suspended.

It keeps what Procrastinate with its guards keeps: of one agent, at most one job runs in a process that others see.
"""

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agent_core.errors import DatabaseAway, Superseded
from agent_core.model.ids import AgentId
from agent_core.ports.database import UnitOfWork
from agent_core.ports.engine import Advance, EngineParts
from tests.simulation.chat import OUTSIDE
from tests.simulation.scheduler import CLOCK, Chance, Process
from tests.simulation.wire import Faults

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BEAT_SECONDS, SILENT_SECONDS, TAKEOVER_SECONDS, GAP_SECONDS, SWEEP_SECONDS = 1.0, 3.0, 5.0, 3.0, 2.0
DELIVERY_SECONDS, POLL_SECONDS, CANCEL_SECONDS = 0.1, 0.8, 4.0


@dataclass(slots=True)
class JobQueue:
    """What the processes share. `waiting`: agents with a job that nobody runs yet; `holders`: who runs which."""

    chance: Chance
    faults: Faults
    engines: "list[QueueEngine]" = field(default_factory=list)
    waiting: dict[AgentId, None] = field(default_factory=dict)
    holders: "dict[AgentId, QueueEngine]" = field(default_factory=dict)

    def join(self, process: Process, parts: EngineParts) -> "QueueEngine":
        self.engines.append(QueueEngine(parts, self, process))
        return self.engines[-1]

    def defer(self, agent_id: AgentId) -> None:
        """Queue a job, now and then twice. It arrives a little later."""
        for _ in range(2 if self.chance.happens(0.1) else 1):
            self._later(DELIVERY_SECONDS, partial(self._arrive, agent_id))

    def abort(self, agent_id: AgentId) -> None:
        """Have the job that runs now cancelled. If the message is lost, its process finds it out by itself."""
        if holder := self.holders.get(agent_id):
            seconds = DELIVERY_SECONDS + (POLL_SECONDS if self.chance.happens(self.faults.deaf) else 0)
            self._later(seconds, partial(holder.cancel, agent_id, holder.running.get(agent_id)), holder.process)

    def finish(self, agent_id: AgentId, engine: "QueueEngine") -> None:
        """The job has ended; or another process has it by now."""
        if self.holders.get(agent_id) is engine:
            del self.holders[agent_id]
        self.hand_out()

    def hand_out(self) -> None:
        for agent_id in tuple(self.waiting):
            takers = [each for each in self.engines if each.accepts and not each.process.is_suspended]
            takers = [each for each in takers if not each.process.is_dead]
            if takers and agent_id not in self.holders:
                del self.waiting[agent_id]
                taker = self.holders[agent_id] = self.chance.random.choice(takers)
                self._later(0, partial(taker.begin, agent_id), taker.process)

    def _arrive(self, agent_id: AgentId) -> None:
        self.waiting[agent_id] = None
        self.hand_out()

    def _later(self, seconds: float, act: "Callable[[], object]", process: Process | None = None) -> None:
        context = process.context if process else OUTSIDE
        asyncio.get_running_loop().call_later(seconds * self.chance.random.random(), act, context=context)


@dataclass(eq=False, slots=True)
class QueueEngine:
    """Implements `Engine` for one process. `beaten`: when the others last saw that it lives."""

    parts: EngineParts
    queue: JobQueue
    process: Process
    accepts: bool = False
    workers: int = 1
    beaten: float = 0.0
    running: "dict[AgentId, asyncio.Task[None]]" = field(default_factory=dict)
    _advance: "Advance | None" = None

    @asynccontextmanager
    async def connect(self) -> "AsyncIterator[None]":
        yield

    @property
    def in_progress(self) -> int:
        return len(self.running)

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self.queue.defer, agent_id))

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self.queue.abort, agent_id))
        self.wake(work, agent_id)

    def hold(self, work: UnitOfWork, agent_id: AgentId) -> None:
        if self.queue.holders.get(agent_id) is not self:
            raise Superseded(agent_id)

    async def run(self, advance: Advance) -> None:
        self._advance, self.accepts, self.beaten = advance, True, CLOCK.elapsed()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep())
            group.create_task(self._watch())

    async def stand_by(self) -> None:
        await asyncio.Event().wait()

    async def drain(self, seconds: float) -> int:
        self.accepts = False
        if not self.running:
            return 0
        _, late = await asyncio.wait(tuple(self.running.values()), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)
        return len(late)

    def begin(self, agent_id: AgentId) -> None:
        if agent_id not in self.running and self._advance:
            task = self.running[agent_id] = asyncio.get_running_loop().create_task(self._advance(agent_id))
            task.add_done_callback(partial(self._end, agent_id))

    def cancel(self, agent_id: AgentId, task: "asyncio.Task[None] | None") -> None:
        if task and self.running.get(agent_id) is task and not task.cancelling():
            task.cancel()

    def _end(self, agent_id: AgentId, _task: "asyncio.Task[None]") -> None:
        del self.running[agent_id]
        if not self.accepts:  # it drains: what is left to do is for others
            self.queue.defer(agent_id)
        self.queue.finish(agent_id, self)

    async def _watch(self) -> None:
        """Beat; take over from those that do not, unless this process slept itself; give up what others took over."""
        silent_since: dict[QueueEngine, float] = {}
        while True:
            now = CLOCK.elapsed()
            before = {} if now - self.beaten > GAP_SECONDS else silent_since
            self.beaten = now
            holders = {each for each in self.queue.holders.values() if now - each.beaten > SILENT_SECONDS}
            silent_since = {each: before.get(each, now) for each in holders}
            for agent_id, holder in tuple(self.queue.holders.items()):
                is_dead = now - silent_since.get(holder, now) >= TAKEOVER_SECONDS
                if is_dead and self.queue.holders.get(agent_id) is holder:
                    del self.queue.holders[agent_id]
                    with suppress(DatabaseAway):
                        await self.parts.charge_left(agent_id)
                    self.queue.defer(agent_id)
            for agent_id, task in tuple(self.running.items()):
                if self.queue.holders.get(agent_id) is not self:
                    self.cancel(agent_id, task)
                    await self.parts.end_programs(agent_id)
            await CLOCK.sleep(BEAT_SECONDS)

    async def _sweep(self) -> None:
        while True:
            with suppress(DatabaseAway):
                async with self.parts.database.begin() as work:
                    due = await work.agents.due(self.parts.surfaces, CLOCK.now())
                for agent_id in due:
                    if agent_id not in self.queue.waiting and agent_id not in self.queue.holders:
                        self.queue.defer(agent_id)
            await CLOCK.sleep(SWEEP_SECONDS)
