"""The engine of several processes: a wake is a job of Procrastinate in the same PostgreSQL, with the agent as its lock.

Procrastinate hands each job to one worker, tells it of new and aborted jobs, and notes who lives. What an agent does
next is read from our own tables, so a job may run late, twice, or after its agent has nothing left to do.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException

from agent_core.engines.procrastinate_guards import (
    BEAT_SECONDS,
    RETRY_SECONDS,
    GuardedWorker,
    Takeover,
)
from agent_core.errors import DatabaseAway, NotFound, Superseded
from agent_core.model.agent import Agent
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

logger = logging.getLogger(__name__)

for _name in ("procrastinate", "psycopg.pool"):  # an outage of the database is logged once, by the database
    logging.getLogger(_name).setLevel(logging.CRITICAL)

SWEEP_SECONDS = 2.0
MAX_KNOWN = 10_000
ADVANCE = "advance"  # the name of the task, also in persistence/jobs.py
MAKE_TABLES = 4711  # an advisory lock: processes that start at the same time make the tables once
OTHERS = "SELECT id FROM procrastinate_workers WHERE last_heartbeat > now() - interval '5 s'"
Advance = Callable[[AgentId], Coroutine[Any, Any, None]]


async def _nothing(_agent: object) -> bool:
    return False


@dataclass(slots=True, kw_only=True)
class JobQueueEngine:
    """Implements Engine, Waker and Claims. It works inside of `connect`.

    `address`: of the database, as libpq reads it.
    `end_programs`: ends the background programs of an agent; `has_programs`: whether it has some here.
    `charge_left`: charges what a process that ended had reserved for an agent.
    `advances`: False in a process that only serves people.
    """

    address: str
    database: Database
    clock: Clock
    surfaces: Sequence[SurfaceName]
    end_programs: Callable[[AgentId], Awaitable[object]] = _nothing
    has_programs: Callable[[Agent], Awaitable[bool]] = _nothing
    charge_left: Callable[[AgentId], Awaitable[object]] = _nothing
    advances: bool = True
    is_shared: bool = True
    looks: int = 0
    others: int = 0
    _app: App = field(init=False)
    _worker: GuardedWorker | None = None
    _fences: dict[AgentId, int] = field(default_factory=dict)
    _known: LRUCache[AgentId, int] = field(default_factory=lambda: LRUCache(MAX_KNOWN))
    _is_draining: bool = False
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        limits = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}
        connector = PsycopgConnector(conninfo=self.address, kwargs=limits, min_size=1, max_size=4, timeout=5.0)
        self._app = App(connector=connector)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Connect for a with-block, and make Procrastinate's tables if there are none; raise DatabaseAway."""
        try:
            await self._app.open_async()
            async with self._app.connector.pool.connection() as session:  # type: ignore[attr-defined]
                await session.execute("SELECT pg_advisory_xact_lock(%s)", [MAKE_TABLES])
                found = await (await session.execute("SELECT to_regclass('procrastinate_jobs')")).fetchone()
                if found == (None,):
                    await session.execute(self._app.schema_manager.get_schema())
        except (ConnectorException, OSError) as fault:
            await self._app.close_async()
            raise DatabaseAway("The queue of jobs cannot be reached.") from fault
        try:
            yield
        finally:
            await self._app.close_async()

    @property
    def has_others(self) -> bool:
        """Whether another worker is known that takes agents."""
        return self.others > 0

    @property
    def has_workers(self) -> bool:
        """Whether a worker is known that takes agents: this process or another; True before the first look."""
        return self.advances or self.has_others or not self.looks

    @property
    def in_progress(self) -> int:
        """How many agents are being advanced."""
        return len(self._fences)

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.jobs.defer(agent_id)

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.jobs.abort(agent_id)
        work.jobs.defer(agent_id)

    async def take(self, agent_id: AgentId) -> Agent:
        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.locate(agent_id)
            if agent.channel.surface not in self.surfaces:
                raise Superseded(agent_id)
            taken = agent.claim()
            work.agents.save(taken)
            return taken

        taken = await in_one_unit(self.database, act)
        self._fences[agent_id] = taken.fence
        return taken

    def was_elsewhere(self, agent: Agent) -> bool:
        known = self._known.get(agent.id)
        self._known[agent.id] = agent.fence
        return agent.fence > 1 and known != agent.fence - 1

    async def confirm(self, agent_id: AgentId) -> None:
        async with self.database.begin() as work:
            agent = await work.agents.locate(agent_id)
        if agent.fence != self._fences.get(agent_id):
            raise Superseded(agent_id)

    def give_up(self, work: UnitOfWork, agent: Agent) -> None:
        """Do nothing: the job ends when it returns."""

    def forget(self, agent_id: AgentId) -> None:
        """Do nothing: the fence in the database is asked each time."""

    async def run(self, advance: Advance) -> None:
        async def run_job(context: JobContext, agent: str) -> None:
            await self._run_job(advance, AgentId(agent))

        self._app.task(name=ADVANCE, pass_context=True)(run_job)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep(), name="sweep")
            while not self._is_draining:
                self._worker = worker = GuardedWorker(self._app, self.clock, self.surfaces)
                watching = group.create_task(self._watch(worker), name="takeover")
                try:
                    await worker.run()  # type: ignore[no-untyped-call]
                except ConnectorException:
                    await self.clock.sleep(RETRY_SECONDS)
                finally:
                    watching.cancel()
            self._has_ended.set()
            await asyncio.Event().wait()

    def keep_to(self, agent_ids: set[AgentId]) -> None:
        """Raise NotImplementedError: a process takes any job of its surfaces."""
        raise NotImplementedError

    async def stand_by(self) -> None:
        """Stay beside the workers without taking agents, until cancelled: for a process that only serves people."""
        self.advances = False
        while True:
            with suppress(ConnectorException):
                await self._count_others()
            await self.clock.sleep(BEAT_SECONDS)

    async def drain(self, seconds: float) -> int:
        """Begin nothing more, give what runs so many seconds, and cancel what is left; return how many were."""
        self._is_draining = True
        worker = self._worker
        if worker is None or worker.run_task is None:
            return 0
        worker.shutdown_graceful_timeout = seconds
        worker.stop()  # type: ignore[no-untyped-call]
        await self._has_ended.wait()
        return worker.late

    async def _run_job(self, advance: Advance, agent_id: AgentId) -> None:
        """Advance the agent, and stay with it while its background programs run here."""
        try:
            await advance(agent_id)
            while not self._is_draining and await self._has_programs(agent_id):
                await self.clock.sleep(BEAT_SECONDS)
                await advance(agent_id)
        finally:
            self._fences.pop(agent_id, None)
            if self._is_draining:  # what it has left to do is for others, or for the next start
                with suppress(DatabaseAway):
                    await self._wake_now(agent_id)

    async def _has_programs(self, agent_id: AgentId) -> bool:
        try:
            async with self.database.begin() as work:
                return await self.has_programs(await work.agents.locate(agent_id))
        except NotFound:
            return False
        except DatabaseAway:
            return True

    async def _revive(self, agent_id: AgentId) -> None:
        await self.charge_left(agent_id)
        await self._wake_now(agent_id)

    async def _wake_now(self, agent_id: AgentId) -> None:
        async with self.database.begin() as work:
            work.jobs.defer(agent_id)
            await work.commit()

    async def _watch(self, worker: GuardedWorker) -> None:
        takeover = Takeover(
            worker=worker,
            clock=self.clock,
            revive=lambda lock: self._revive(AgentId(lock)),
            lose=lambda lock: self.end_programs(AgentId(lock)),
        )
        while True:
            with suppress(ConnectorException, DatabaseAway):
                await takeover.look()
                await self._count_others()
            await self.clock.sleep(BEAT_SECONDS)

    async def _count_others(self) -> None:
        own = self._worker.worker_id if self._worker else None
        found = await self._app.connector.execute_query_all_async(OTHERS)
        self.others, self.looks = sum(each["id"] != own for each in found), self.looks + 1

    async def _sweep(self) -> None:
        """Wake the agents that are due by their time, or whose job was lost."""
        while True:
            try:
                async with self.database.begin() as work:
                    due = await work.agents.due(self.surfaces, self.clock.now(), heeds_claims=False)
                    if due and not self._is_draining:
                        work.jobs.defer_idle(due)
                        await work.commit()
            except DatabaseAway:
                pass
            except Exception:  # the sweep must not end: it is what finds lost work
                logger.exception("sweep failed, trying again")
            await self.clock.sleep(SWEEP_SECONDS)
