"""The engine: one asyncio task for each agent that this process advances, and a periodic sweep for lost wakes.

One process or several may run it on one database: each advances only agents that it has claimed. A wake that another
process should have is broadcast; if it is lost, a sweep finds the work a second later.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from agent_core.engines.worker_registry import BEAT_SECONDS, WorkerRegistry
from agent_core.errors import DatabaseAway, NotFound
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId
from agent_core.ports.broadcast import Broadcast
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork

logger = logging.getLogger(__name__)

SWEEP_SECONDS = BEAT_SECONDS  # a sweep is also a heartbeat
SWEEPS_BETWEEN_CHECKS = 30
MAX_UNSETTLED, UNSETTLED_TIME = 20, timedelta(seconds=30)
MAX_LOOKED_AT = 100  # helpers among them have no status line
SHOWING_SECONDS = 1.0  # what is left at least, to show what people did while a command was given its time
CANCEL_SECONDS = 4.0  # for what a cancelled step saves and shows

Advance = Callable[[AgentId], Coroutine[Any, Any, None]]


async def _end_nothing(_agent_id: AgentId) -> None:
    """Do nothing: there are no background programs."""


def _start_nothing(_agent_ids: Sequence[AgentId]) -> None:
    """Do nothing: the engine does not run."""


@dataclass(slots=True, kw_only=True)
class LocalEngine:
    """Implements Engine and Waker. An agent woken while it is being advanced is advanced again afterwards.

    `advances`: False in a process that only serves people; then all wakes are for others.
    `end_programs`: ends the background programs of an agent that this process has lost.
    `only`: if given, the sweep considers only these agents and those woken since.
    """

    database: Database
    clock: Clock
    surfaces: Sequence[SurfaceName]
    registry: WorkerRegistry
    end_programs: Callable[[AgentId], Coroutine[Any, Any, None]] = _end_nothing
    advances: bool = True
    only: set[AgentId] | None = None
    sweep_seconds: float = SWEEP_SECONDS
    _woken: dict[AgentId, None] = field(default_factory=dict)
    _running: dict[AgentId, asyncio.Task[None]] = field(default_factory=dict)
    _left_to_others: set[AgentId] = field(default_factory=set)
    _ending: "set[asyncio.Future[None]]" = field(default_factory=set)
    _sweeps: int = 0
    _wake_event: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False
    _may_be_unsettled: bool = True
    _start: Callable[[Sequence[AgentId]], None] = _start_nothing

    def __post_init__(self) -> None:
        self.registry.on_loss, self.registry.on_death = self._lose, self._note_death
        self.broadcast.subscribe("wake", lambda key: self._receive_wake(AgentId(key)))
        self.broadcast.subscribe("wake claimant", lambda key: self._receive_wake(AgentId(key), is_for_claimant=True))
        self.broadcast.subscribe("interrupt", self._receive_interrupt)

    @property
    def broadcast(self) -> Broadcast:
        return self.registry.peers.broadcast

    @property
    def has_others(self) -> bool:
        """Whether another worker is known that takes agents."""
        return bool(self.registry.others)

    @property
    def has_workers(self) -> bool:
        """Whether a worker is known that takes agents: this process or another; True before the first look."""
        return self.registry.accepts or self.has_others or not self.registry.looks

    @property
    def in_progress(self) -> int:
        """How many agents are being advanced."""
        return len(self._running)

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self._wake, agent_id))

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.after_commit(partial(self._interrupt, agent_id))

    def _wake(self, agent_id: AgentId) -> None:
        if self.advances:
            self._wake_here(agent_id)
        if agent_id not in self.registry.claimed:
            self.broadcast.publish("wake claimant" if self.advances else "wake", agent_id)

    def _interrupt(self, agent_id: AgentId) -> None:
        if not self._interrupt_here(agent_id):
            self.broadcast.publish("interrupt", agent_id)
        self._wake(agent_id)

    async def run(self, advance: Advance) -> None:
        """Advance woken and due agents until cancelled."""
        self.registry.enter()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sweep(), name="sweep")
                self._start = partial(self._start_in, group, advance)
                while True:
                    await self._wake_event.wait()
                    self._wake_event.clear()
                    self._start(self._startable())
        finally:
            self._start = _start_nothing
            await self._leave()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Do nothing: the engine has no connection of its own."""
        yield

    def keep_to(self, agent_ids: set[AgentId]) -> None:
        """Advance only these agents, and those that are woken later."""
        self.only = agent_ids

    async def stand_by(self) -> None:
        """Stay among the workers without taking agents, until cancelled: for a process that only serves people."""
        self.advances = self.registry.accepts = False
        try:
            while True:
                try:
                    await self.registry.look()
                except DatabaseAway:
                    self.registry.lose_sight()
                except Exception:  # a process that serves people goes on without the other workers' news
                    logger.warning("did not look at the other workers, trying again", exc_info=True)
                    self.registry.lose_sight()
                await self.clock.sleep(self.sweep_seconds)
        finally:
            await self._leave()

    async def drain(self, seconds: float) -> int:
        """Show what people did just before, or while a command ran: as the loop drains too, it begins nothing then."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        self._start(self._startable())
        self._is_draining = True
        begun = tuple(self._running)
        if begun:
            await self._tell_others()
        late = await self._cancel_late(end - loop.time())
        self._start([each for each in begun if each in self._woken and each not in self._running])
        await self._cancel_late(max(SHOWING_SECONDS, end - loop.time()), SHOWING_SECONDS)
        return late

    async def _cancel_late(self, seconds: float, more: float = CANCEL_SECONDS) -> int:
        """Wait up to `seconds` for what runs, then cancel it; return how many were cancelled."""
        if not self._running:
            return 0
        _, late = await asyncio.wait(tuple(self._running.values()), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=more)
        return len(late)

    def _wake_here(self, agent_id: AgentId) -> None:
        if self.only is not None:
            self.only.add(agent_id)
        self._woken[agent_id] = None
        self._wake_event.set()

    def _receive_wake(self, agent_id: AgentId, *, is_for_claimant: bool = False) -> None:
        """Wake the agent if this worker has it or, unless another has it, is the one that should take it."""
        if not self.advances or self.only is not None:
            return
        if agent_id in self.registry.claimed or (not is_for_claimant and self.registry.prefers(agent_id)):
            self._wake_here(agent_id)

    def _receive_interrupt(self, key: str) -> None:
        self._interrupt_here(AgentId(key))

    def _interrupt_here(self, agent_id: AgentId) -> bool:
        """Cancel the step that runs here for the agent; return whether there is one."""
        task = self._running.get(agent_id)
        if task is None:
            return False
        _cancel_once(task)
        return True

    def _lose(self, agent_ids: Collection[AgentId]) -> None:
        """Cancel what runs, and end the programs of the agents that another worker may have now."""
        for task in self._running.values():
            _cancel_once(task)
        for agent_id in agent_ids:
            ending = asyncio.ensure_future(self.end_programs(agent_id))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    def _start_in(self, group: asyncio.TaskGroup, advance: Advance, agent_ids: Sequence[AgentId]) -> None:
        for agent_id in agent_ids:
            del self._woken[agent_id]
            task = self._running[agent_id] = group.create_task(advance(agent_id), name=f"agent {agent_id}")
            task.add_done_callback(partial(self._finished, agent_id))

    def _startable(self) -> list[AgentId]:
        """The woken agents that can be advanced now: none while the engine drains."""
        return [] if self._is_draining else [agent_id for agent_id in self._woken if agent_id not in self._running]

    def _finished(self, agent_id: AgentId, _task: asyncio.Task[None]) -> None:
        self._running.pop(agent_id, None)
        self._wake_event.set()

    async def _sweep(self) -> None:
        while True:
            for agent_id in self._to_take(await self._due()):
                self._wake_here(agent_id)
            await self.clock.sleep(self.sweep_seconds)

    def _to_take(self, due: Sequence[AgentId]) -> list[AgentId]:
        """The due agents that this worker takes now. What another should take is left to it for one sweep."""
        idle = [agent_id for agent_id in due if agent_id not in self._running]
        taken = [
            agent_id
            for agent_id in idle
            if agent_id in self.registry.claimed or agent_id in self._left_to_others or self.registry.prefers(agent_id)
        ]
        self._left_to_others = set(idle).difference(taken)
        return taken

    async def _due(self) -> Sequence[AgentId]:
        try:
            await self.registry.look()
            await self._wake_unsettled()
            async with self.database.begin() as work:
                due = await work.agents.due(self.surfaces, self.clock.now(), self.registry.worker_id)
                due = (*due, *await self._list_over(work))
        except DatabaseAway:
            self.registry.lose_sight()
            return ()
        except Exception:  # the sweep must not end: it is what finds lost work
            logger.exception("sweep failed, trying again")
            return ()
        return due if self.only is None else [agent_id for agent_id in due if agent_id in self.only]

    async def _list_over(self, work: UnitOfWork) -> list[AgentId]:
        """Claimed agents without a step, whose programs have to be ended: they are at rest or were deleted.

        Every now and then also the others, because their programs may have ended.
        """
        self._sweeps += 1
        idle = [agent_id for agent_id in self.registry.claimed if agent_id not in self._running]
        if self._sweeps % SWEEPS_BETWEEN_CHECKS == 0:
            return idle
        over = []
        for agent_id in idle:
            try:
                if (await work.agents.locate(agent_id)).is_at_rest:
                    over.append(agent_id)
            except NotFound:
                over.append(agent_id)
        return over

    def _note_death(self) -> None:
        self._may_be_unsettled = True

    async def _wake_unsettled(self) -> None:
        """At the start and after the death of a worker, wake the agents whose status line may be an old one.

        The line is sent a moment after the save that it tells of. So they are those that changed last of all.
        """
        if not self._may_be_unsettled or self.only is not None:
            return
        self._may_be_unsettled = False  # first, as a death may be noted meanwhile
        try:
            async with self.database.begin() as work:
                found = await work.agents.list_changed_last(self.surfaces, MAX_LOOKED_AT)
        except Exception:
            self._may_be_unsettled = True
            raise
        unsettled = [agent for agent in found if agent.since >= found[0].since - UNSETTLED_TIME and not agent.parent]
        for agent in unsettled[:MAX_UNSETTLED]:
            self._wake_here(agent.id)  # the others may still leave it to the dead worker

    async def _tell_others(self) -> None:
        """Tell the other workers that this one drains, so that they take its agents at once."""
        try:
            await self.registry.drain()
        except DatabaseAway:
            logger.warning("database away, the other workers are not told")

    async def _leave(self) -> None:
        try:
            await self.registry.leave()
        except DatabaseAway:
            logger.warning("database away, the other workers will notice that this one is gone")


def _cancel_once(task: "asyncio.Task[None]") -> None:
    """Cancel the task, unless it was: a second time would cut off what it saves at its end."""
    if not task.cancelling():
        task.cancel()
