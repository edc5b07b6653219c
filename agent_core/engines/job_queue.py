"""The engine of several processes: a wake is a job of Procrastinate in the same PostgreSQL, with the agent as its lock.

Procrastinate hands each job to one worker, tells it of new and aborted jobs, and notes who lives. What an agent does
next is read from our own tables, so a job may run late, twice, or after its agent has nothing left to do.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException

from agent_core.engines.procrastinate_guards import BEAT_SECONDS, RETRY_SECONDS, GuardedWorker, Takeover
from agent_core.errors import DatabaseAway
from agent_core.model.ids import AgentId
from agent_core.ports.database import UnitOfWork, queue_in_one_unit
from agent_core.ports.engine import Advance, EngineParts
from agent_core.text.own_commands import process_text

logger = logging.getLogger(__name__)

for _name in ("procrastinate", "psycopg.pool"):  # an outage of the database is logged once, by the database
    logging.getLogger(_name).setLevel(logging.CRITICAL)

SWEEP_SECONDS = 2.0
CANCEL_SECONDS = 4.0  # for what a cancelled step saves and shows
ADVANCE = "advance"  # the name of the task, also in _DEFER of persistence/write_buffer.py
MAX_NAME_CHARACTERS = 63  # PostgreSQL cuts longer names of connections
MAKE_TABLES = 4711  # an advisory lock: processes that start at the same time make the tables once
# Reads the catalogue anew: `to_regclass` may still answer as before the wait for the lock.
_HAS_TABLES = (
    "SELECT 1 FROM pg_tables WHERE tablename = 'procrastinate_jobs' AND schemaname = ANY(current_schemas(false))"
)

# The job, and its worker, in which something runs. A task that lost its job does not take a later one for its own.
_JOB: ContextVar[tuple[int, int] | None] = ContextVar("job", default=None)


@dataclass(slots=True)
class JobQueueEngine:
    """Implements Engine. `address`: of the database, as libpq reads it."""

    parts: EngineParts
    address: str
    workers: int = 1
    _app: App = field(init=False)
    _worker: GuardedWorker | None = None
    _is_draining: bool = False
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        limits = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}
        # Who needs a lost connection opens it again; by itself, the pool would try ever more rarely.
        pool: dict[str, Any] = {"min_size": 0, "max_size": 4, "timeout": 3.0, "reconnect_timeout": 1.0}
        connector = PsycopgConnector(conninfo=self.address, kwargs=limits, configure=self._name, **pool)
        self._app = App(connector=connector)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """See `Engine.connect`. Procrastinate's tables are made if there are none."""
        try:
            await self._app.open_async()
            if not await self._app.check_connection_async():
                await self._make_tables()
        except (ConnectorException, OSError) as fault:
            await self._app.close_async()
            raise DatabaseAway("The queue of jobs cannot be reached.") from fault
        try:
            yield
        finally:
            await self._app.close_async()

    async def _make_tables(self) -> None:
        async with self._app.connector.pool.connection() as session:  # type: ignore[attr-defined]
            await session.execute("SELECT pg_advisory_xact_lock(%s)", [MAKE_TABLES])
            if not await (await session.execute(_HAS_TABLES)).fetchone():
                await session.execute(self._app.schema_manager.get_schema())

    async def _name(self, session: Any) -> None:
        """Tell operators who look at the database, and the page Operations, whose connection it is."""
        if self._worker and self._worker.worker_id:
            name = f"signoff worker {self._worker.worker_id}: {process_text()}"[:MAX_NAME_CHARACTERS]
            await session.execute("SELECT set_config('application_name', %s, false)", [name])
            await session.commit()

    @property
    def in_progress(self) -> int:
        return len(self._worker.running) if self._worker else 0

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.jobs.defer(agent_id)

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        work.jobs.abort(agent_id)
        work.jobs.defer(agent_id)

    def hold(self, work: UnitOfWork, agent_id: AgentId) -> None:
        if job := _JOB.get():
            work.jobs.hold(*job)

    async def run(self, advance: Advance) -> None:
        async def run_job(context: JobContext, agent: str) -> None:
            if context.job.id and context.job.worker_id:
                _JOB.set((context.job.id, context.job.worker_id))
            await self._run_job(advance, AgentId(agent))

        self._app.task(name=ADVANCE, pass_context=True)(run_job)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep(), name="sweep")
            while not self._is_draining:
                self._worker = worker = GuardedWorker(self._app, self.parts.clock, self.parts.surfaces)
                watching = group.create_task(self._watch(worker), name="takeover")
                try:
                    await worker.run()  # type: ignore[no-untyped-call]
                except ConnectorException:
                    await self.parts.clock.sleep(RETRY_SECONDS)
                finally:
                    watching.cancel()
            self._has_ended.set()
            task = asyncio.current_task()
            if task and task.cancelling():  # a worker that cannot say goodbye raises its own error instead
                raise asyncio.CancelledError
            await asyncio.Event().wait()

    async def stand_by(self) -> None:
        while True:
            with suppress(DatabaseAway):
                await self._count_workers()
            await self.parts.clock.sleep(BEAT_SECONDS)

    async def drain(self, seconds: float) -> int:
        """Begin nothing more, give what runs so many seconds, and cancel what is left; return how many were."""
        self._is_draining = True
        worker = self._worker
        if worker is None or worker.run_task is None:
            return 0
        worker.shutdown_graceful_timeout = seconds
        worker.stop()  # type: ignore[no-untyped-call]
        with suppress(TimeoutError):  # what waits for the database ends with the process
            async with asyncio.timeout((seconds if worker.running else 0) + CANCEL_SECONDS):
                await self._has_ended.wait()
        return worker.late

    async def _run_job(self, advance: Advance, agent_id: AgentId) -> None:
        """Advance the agent, and stay with it while its background programs run here; an interrupted one keeps none."""
        try:
            await advance(agent_id)
            while not self._is_draining and agent_id in self.parts.list_with_programs():
                await self.parts.clock.sleep(BEAT_SECONDS)
                await advance(agent_id)
        except asyncio.CancelledError:
            await self.parts.end_programs(agent_id)
            raise
        finally:
            if self._is_draining:  # what it has left to do is for others, or for the next start
                with suppress(DatabaseAway):
                    await self._wake_now(agent_id)

    async def _revive(self, agent_id: AgentId) -> None:
        await self.parts.charge_left(agent_id)
        await self._wake_now(agent_id)

    async def _wake_now(self, agent_id: AgentId) -> None:
        await queue_in_one_unit(self.parts.database, lambda work: work.jobs.defer(agent_id))

    async def _watch(self, worker: GuardedWorker) -> None:
        takeover = Takeover(
            worker=worker,
            clock=self.parts.clock,
            revive=lambda lock: self._revive(AgentId(lock)),
            lose=lambda lock: self.parts.end_programs(AgentId(lock)),
        )
        while True:
            try:
                await takeover.look()
                await self._count_workers()
            except (ConnectorException, DatabaseAway):
                pass
            except Exception:  # the watch must not end: it is what finds dead workers
                logger.exception("did not look at the other workers, trying again")
            await self.parts.clock.sleep(BEAT_SECONDS)

    async def _count_workers(self) -> None:
        async with self.parts.database.begin() as work:
            self.workers = await work.jobs.count_workers()

    async def _sweep(self) -> None:
        """Wake the agents that are due by their time, or whose job was lost."""
        while True:
            try:
                with self.parts.telemetry.watch("sweep"):
                    await self._look_for_due()
            except DatabaseAway:
                pass
            except Exception:  # the sweep must not end: it is what finds lost work
                logger.exception("sweep failed, trying again")
            await self.parts.clock.sleep(SWEEP_SECONDS)

    async def _look_for_due(self) -> None:
        async with self.parts.database.begin() as work:
            due = await work.agents.due(self.parts.surfaces, self.parts.clock.now())
            if due and not self._is_draining:
                work.jobs.defer_idle(due)
                await work.commit()
