"""This process among the workers of a database: its heartbeat, the agents that it has claimed, and workers that died.

Each worker has a row with a counter, which its heartbeat raises every second. A worker whose counter does not grow for
TAKEOVER_SECONDS, by the clock of the worker that looks, is removed with its claims. The removed worker finds that out
at its next heartbeat; until then it begins nothing, because it confirms each claim that its last heartbeat no longer
covers. No clock is compared with another machine's.
"""

import asyncio
import logging
import os
import platform
import zlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from agent_core.engines.worker_sightings import WorkerSightings
from agent_core.errors import Conflict, Superseded
from agent_core.model.agent import Agent
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId, WorkerId, new_id
from agent_core.model.worker import Worker
from agent_core.ports.broadcast import ALONE, Peers
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
OWN_SECONDS = 4.0  # below TAKEOVER_SECONDS: two clocks may differ in speed
MAX_ATTEMPTS, MAX_KNOWN, LOOKS_BETWEEN_CHECKS = 20, 10_000, 10


async def _check_nothing(_living: Collection[str]) -> None:
    """Do nothing about what dead workers left."""


@dataclass(slots=True, kw_only=True)
class WorkerRegistry:
    """Implements `Claims`.

    `surfaces`: those whose agents this worker can show; None for all.
    `accepts`: whether this worker takes agents.
    `key`: begins the id of this worker, also after it was removed and has joined again.
    `check_left`: is called regularly with the keys of all workers, for what others have left.
    `claimed`, `known`: the fence of each agent that this worker has, and of those that it had last.
    `on_loss`: is called with the agents that this worker lost, because it was taken for dead. `on_death`: of others.
    `others`: the other workers that take agents, as last seen. `looks`: how often this one has looked for them.
    """

    database: Database
    clock: Clock
    peers: Peers = ALONE
    surfaces: Collection[SurfaceName] | None = None
    accepts: bool = True
    check_left: Callable[[Collection[str]], Awaitable[None]] = _check_nothing
    others: tuple[Worker, ...] = ()
    claimed: dict[AgentId, int] = field(default_factory=dict)
    known: LRUCache[AgentId, int] = field(default_factory=lambda: LRUCache(MAX_KNOWN))
    on_loss: Callable[[Collection[AgentId]], None] = lambda _lost: None
    on_death: Callable[[], object] = lambda: None
    key: str = ""
    _joined: int = 0
    _worker: Worker | None = None
    _has_left: bool = False
    _own_until: float = 0.0
    looks: int = 0
    _busy: set[AgentId] = field(default_factory=set)
    _sightings: WorkerSightings = field(default_factory=WorkerSightings)
    _joining: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.key = self.key or new_id(self.clock.now())

    @property
    def is_shared(self) -> bool:
        return self.peers.are_possible

    @property
    def worker_id(self) -> WorkerId | None:
        """The id of this worker; None before it has claimed anything, and after it was removed."""
        return self._worker.id if self._worker else None

    def prefers(self, agent_id: AgentId) -> bool:
        """Whether this worker is the one, of all that take agents, that should take this agent."""
        return self.accepts and all(
            _weight(agent_id, self.worker_id) >= _weight(agent_id, other.id) for other in self.others
        )

    async def take(self, agent_id: AgentId) -> Agent:
        if agent_id in self._busy or self._has_left:
            raise Superseded(agent_id)
        self._busy.add(agent_id)
        try:
            for _ in range(MAX_ATTEMPTS):
                worker = await self._join()
                try:
                    return await self._claim(agent_id, worker)
                except Conflict:
                    await self._require_free(agent_id, worker)
        finally:
            self._busy.discard(agent_id)
        raise Superseded(agent_id)

    async def confirm(self, agent_id: AgentId) -> None:
        if agent_id in self.claimed and self.clock.elapsed() >= self._own_until:
            await self._beat()
        if agent_id not in self.claimed:
            raise Superseded(agent_id)

    def give_up(self, work: UnitOfWork, agent: Agent) -> None:
        if self._worker:
            work.workers.unclaim(agent.id, self._worker.id, agent.fence)

    def forget(self, agent_id: AgentId) -> None:
        self.claimed.pop(agent_id, None)

    async def look(self) -> None:
        """Beat, look at the other workers, and remove those that died. Call this every BEAT_SECONDS."""
        if self._has_left:
            return
        if self._worker is None:
            await self._join()
        elif self.claimed or self._sightings.any or self.is_shared:  # else nobody looks, and a beat writes to the disk
            await self._beat()
        async with self.database.begin() as work:
            workers = await work.workers.list_all()
        others = [worker for worker in workers if worker.id != self.worker_id]
        dead = self._list_dead(others)
        for worker in dead if self.accepts else ():  # else nobody here shows again what their agents do
            await self._bury(worker)
        self.others = tuple(worker for worker in others if worker.accepts and worker not in dead)
        self.looks += 1
        if self._worker and self.looks % LOOKS_BETWEEN_CHECKS == 0:
            await self._give_up_strays(self._worker)
            await self.check_left({each.id.partition(".")[0] for each in (*others, self._worker)})

    def lose_sight(self) -> None:
        """Watch the other workers afresh: while the database was away, they could not beat either."""
        self._sightings.clear()

    async def drain(self) -> None:
        """Tell the others that this worker takes no more agents."""
        self.accepts = False
        await self._beat()

    def enter(self) -> None:
        """Take part (again, after `leave`)."""
        self._has_left = False

    async def leave(self) -> None:
        """Remove this worker with its claims, so that the others need not wait for its death."""
        self._has_left = True
        worker, self._worker = self._worker, None
        self.claimed.clear()

        async def act(work: UnitOfWork) -> None:
            for each in await work.workers.list_all():
                if worker and each.id == worker.id:
                    work.workers.remove(each)

        await in_one_unit(self.database, act)

    async def _join(self) -> Worker:
        """This worker, whose row is saved first if there is none. Workers that have certainly ended are removed."""
        async with self._joining:
            if self._worker:
                return self._worker
            sent = self.clock.elapsed()
            self._joined += 1
            worker = Worker(WorkerId(f"{self.key}.{self._joined}"), self.peers.process, accepts=self.accepts)
            async with self.database.begin() as work:
                others = await work.workers.list_all()
                work.workers.join(worker)
                await work.commit()
            self._worker, self._own_until = worker, sent + OWN_SECONDS
            if self.is_shared:
                said = {"worker": worker.id, "host": platform.node(), "pid": os.getpid()}
                logger.info("worker takes part" if self.accepts else "process without agents takes part", extra=said)
            for other in others:
                if self.accepts and self.peers.is_gone(other.process):
                    await self._bury(other)
            return worker

    async def _claim(self, agent_id: AgentId, worker: Worker) -> Agent:
        async with self.database.begin() as work:
            agent, claimant = await work.agents.locate(agent_id), await work.workers.claimant(agent_id)
            if not self._shows(agent):
                raise Superseded(agent_id)
            if agent_id in self.claimed:
                if agent.fence == self.claimed[agent_id]:
                    return agent
                self._lose()
                raise Superseded(agent_id)
            taken = agent.claim()
            claim = work.workers.renew_claim if claimant == worker.id else work.workers.claim  # an answer was lost
            claim(agent_id, worker.id, taken.fence)
            work.agents.save(taken)
            await work.commit()
        self.claimed[agent_id] = taken.fence
        return taken

    def was_elsewhere(self, agent: Agent) -> bool:
        known = self.known.get(agent.id)
        self.known[agent.id] = agent.fence
        return agent.fence > 1 and known not in (agent.fence - 1, agent.fence)

    async def _require_free(self, agent_id: AgentId, worker: Worker) -> None:
        """Raise Superseded if a worker that may live has claimed the agent."""
        async with self.database.begin() as work:
            claimant, workers = await work.workers.claimant(agent_id), await work.workers.list_all()
        if worker.id not in {each.id for each in workers} and self._worker is worker:
            self._lose()
        other = next((each for each in workers if each.id == claimant and claimant != worker.id), None)
        if other is None:
            return
        if not self.peers.is_gone(other.process):
            raise Superseded(agent_id)
        await self._bury(other)

    def _shows(self, agent: Agent) -> bool:
        return self.surfaces is None or agent.channel.surface in self.surfaces

    async def _beat(self) -> None:
        worker, sent = self._worker, self.clock.elapsed()
        if worker is None:
            return
        try:
            async with self.database.begin() as work:
                work.workers.beat(worker.id, accepts=self.accepts)
                await work.commit()
        except Conflict:
            if self._worker is worker:
                logger.warning("this worker was taken for dead, and another took its agents")
                self._lose()
        else:
            self._own_until = max(self._own_until, sent + OWN_SECONDS)

    def _lose(self) -> None:
        lost, self._worker = tuple(self.claimed), None
        self.claimed.clear()
        self.on_loss(lost)

    def _list_dead(self, others: Sequence[Worker]) -> list[Worker]:
        silent = self._sightings.find_silent(others, self.clock.elapsed())
        return [worker for worker in others if worker in silent or self.peers.is_gone(worker.process)]

    async def _bury(self, worker: Worker) -> None:
        """Remove a worker with its claims, unless it lives after all or another did so."""
        try:
            async with self.database.begin() as work:
                work.workers.remove(worker)
                await work.commit()
        except Conflict:
            return
        logger.warning("a worker died, its agents are taken over", extra={"worker": worker.id})
        self.on_death()

    async def _give_up_strays(self, worker: Worker) -> None:
        """Give up claims that this process does not know: the answer to their commit was lost."""
        async with self.database.begin() as work:
            claimed = await work.workers.list_claimed(worker.id)
            strays = set(claimed).difference(self.claimed, self._busy)
            self._busy |= strays  # so that none is taken meanwhile
            try:
                for agent_id in strays:
                    work.workers.unclaim(agent_id, worker.id, claimed[agent_id])
                await work.commit()
            finally:
                self._busy -= strays


def _weight(agent_id: AgentId, worker_id: WorkerId | None) -> int:
    """Rendezvous hashing: for each agent, every worker has another weight, and the heaviest should take it."""
    return zlib.crc32(f"{agent_id} {worker_id or ''}".encode())
