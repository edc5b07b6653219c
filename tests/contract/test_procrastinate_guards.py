"""Each fault of Procrastinate 3.10 that was reproduced, and the guard without which its test fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from sqlalchemy import Connection

from agent_core.engines.job_queue import JobQueueEngine
from agent_core.engines.procrastinate_guards import GAP_SECONDS, TAKEOVER_SECONDS, GuardedWorker, Takeover
from agent_core.persistence.connections import job_queue_address
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.engine import EngineParts
from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.tables import on_database

LOCK = "agent-ada"
NEVER = 3600.0


@dataclass
class Queue:
    """A queue with one worker, and what happened to its jobs."""

    app: App
    worker: GuardedWorker
    clock: FakeClock = field(default_factory=FakeClock)
    revived: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    begun: int = 0
    cancelled: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def takeover(self) -> Takeover:
        async def revive(lock: str) -> None:
            self.revived.append(lock)

        async def lose(lock: str) -> None:
            self.lost.append(lock)

        return Takeover(worker=self.worker, clock=self.clock, revive=revive, lose=lose)

    async def look(self, takeover: Takeover, seconds: float, *, beats: bool = True) -> None:
        """Look each second, as time passes. `beats`: whether the worker saves its own heartbeat."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
            if beats:
                self.worker.beaten = self.clock.elapsed()
            await takeover.look()

    async def job(self, _context: JobContext) -> None:
        self.begun += 1
        await self._tell()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            await self._tell()

    async def until(self, begun: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
            await self.changed.wait_for(lambda: self.begun >= begun)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def ask(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        return await self.app.connector.execute_query_all_async(sql, **values)

    async def defer(self) -> None:
        await self.app.configure_task("job", lock=LOCK, queue="web").defer_async()

    async def add_running(self, heartbeat_seconds_ago: float) -> None:
        """A job that another worker runs, whose last heartbeat was so long ago."""
        await self.ask(
            "WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat)"
            " VALUES (now() - make_interval(secs => %(ago)s)) RETURNING id)"
            " INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, worker_id)"
            " SELECT 'web', 'job', %(lock)s, 'doing', id FROM worker RETURNING id",
            ago=heartbeat_seconds_ago,
            lock=LOCK,
        )

    async def heartbeat(self) -> Any:
        (row,) = await self.ask(
            "SELECT last_heartbeat AS at FROM procrastinate_workers WHERE id = %(id)s", id=self.worker.worker_id
        )
        return row["at"]

    async def until_it_beats(self, since: Any) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.heartbeat() == since:
                await SystemClock().sleep(0.1)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        task: asyncio.Task[None] = asyncio.create_task(self.worker.run())  # type: ignore[no-untyped-call]
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def queue(postgres: str, database: SqlDatabase) -> AsyncIterator[Queue]:
    address = job_queue_address(postgres)
    engine = JobQueueEngine(EngineParts(database=database, clock=SystemClock(), surfaces=("web",)), address)
    async with engine.connect():
        pass

    def empty(connection: Connection) -> None:
        connection.exec_driver_sql("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")

    await on_database(postgres, empty)
    app = App(connector=PsycopgConnector(conninfo=address, min_size=1, max_size=3, timeout=5.0))
    async with app.open_async():
        queue = Queue(app, GuardedWorker(app, SystemClock(), ["web"]))
        app.task(name="job", pass_context=True)(queue.job)
        yield queue
    await on_database(postgres, empty)


pytestmark = pytest.mark.parametrize("url", ["postgres"], indirect=True)


@pytest.mark.slow
@pytest.mark.proves("workers:death")
async def test_the_job_of_a_dead_worker_ends_and_its_agent_goes_on_once(queue: Queue) -> None:
    """Nobody takes over by itself."""
    await queue.add_running(heartbeat_seconds_ago=60)
    first, second = queue.takeover(), queue.takeover()
    for takeover in (first, second):
        await queue.look(takeover, TAKEOVER_SECONDS + 1)
    assert queue.revived == [LOCK]
    assert await queue.ask("SELECT id FROM procrastinate_jobs") == []


@pytest.mark.slow
async def test_a_worker_that_beats_is_not_taken_for_dead(queue: Queue) -> None:
    await queue.add_running(heartbeat_seconds_ago=0)
    await queue.look(queue.takeover(), TAKEOVER_SECONDS + 1)
    assert queue.revived == []


@pytest.mark.proves("workers:outage")
@pytest.mark.parametrize("gap", ["slept", "away", "no writes"])
async def test_after_a_gap_nobody_is_judged_for_a_while(queue: Queue, gap: str) -> None:
    """Every live worker counts as silent then: it could not beat, or nobody looked."""
    takeover = queue.takeover()
    await queue.add_running(heartbeat_seconds_ago=60)
    await queue.look(takeover, 1)
    match gap:
        case "slept":
            queue.clock.advance(GAP_SECONDS + 1)
        case "away":
            await queue.app.connector.execute_query_async("ALTER TABLE procrastinate_workers RENAME TO away")
            with pytest.raises(ConnectorException):
                await queue.look(takeover, 1)
            await queue.app.connector.execute_query_async("ALTER TABLE away RENAME TO procrastinate_workers")
        case _:
            await queue.look(takeover, GAP_SECONDS + 1, beats=False)
    await queue.look(takeover, TAKEOVER_SECONDS - 1)
    assert queue.revived == []
    await queue.look(takeover, 2)
    assert queue.revived == [LOCK]


@pytest.mark.slow
async def test_a_job_that_a_living_worker_has_and_does_not_run_goes_on(queue: Queue) -> None:
    """The answer to its fetch or to its end was lost; upstream leaves it "doing" for ever."""
    async with queue.running():
        async with asyncio.timeout(PATIENCE_SECONDS):
            while queue.worker.worker_id is None:
                await SystemClock().sleep(0.01)
        await queue.ask(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, worker_id)"
            " VALUES ('web', 'job', %(lock)s, 'doing', %(id)s) RETURNING id",
            lock=LOCK,
            id=queue.worker.worker_id,
        )
        takeover = queue.takeover()
        await queue.look(takeover, 1)
        assert queue.revived == [], "its end may be on its way"
        await queue.look(takeover, 1)
    assert queue.revived == [LOCK]


@pytest.mark.slow
@pytest.mark.proves("workers:zombie")
async def test_a_job_that_was_taken_over_is_cancelled_where_it_still_runs(queue: Queue) -> None:
    async with queue.running():
        await queue.defer()
        await queue.until(begun=1)
        await queue.ask("DELETE FROM procrastinate_jobs RETURNING id")
        await queue.look(queue.takeover(), 3)
        async with asyncio.timeout(PATIENCE_SECONDS), queue.changed:
            await queue.changed.wait_for(lambda: queue.cancelled == 1)
    assert queue.lost == [LOCK]


@pytest.mark.slow
async def test_the_next_job_of_a_lock_begins_when_the_first_ends(queue: Queue) -> None:
    """Upstream it waits for the poll: its notification came while the lock was held."""
    queue.worker.fetch_job_polling_interval = NEVER
    async with queue.running():
        await queue.defer()
        await queue.until(begun=1)
        await queue.defer()
        queue.gate.set()
        await queue.until(begun=2)


@pytest.mark.slow
async def test_a_worker_that_drains_goes_on_beating(queue: Queue) -> None:
    """Upstream the heartbeat ends at once, so others run its live jobs (pull request 1585)."""
    queue.worker.shutdown_graceful_timeout = NEVER
    async with queue.running() as running:
        await queue.defer()
        await queue.until(begun=1)
        queue.worker.stop()  # type: ignore[no-untyped-call]
        await queue.until_it_beats(since=await queue.heartbeat())
        queue.gate.set()
        await running


@pytest.mark.slow
async def test_a_worker_survives_the_loss_of_its_connections(queue: Queue) -> None:
    """Upstream the listener ends."""
    queue.worker.fetch_job_polling_interval = NEVER
    async with queue.running():
        await queue.defer()
        await queue.until(begun=1)
        before = await queue.heartbeat()
        await queue.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid != pg_backend_pid() AND backend_type = 'client backend'"
        )
        await queue.until_it_beats(since=before)
        queue.gate.set()
        await queue.defer()
        await queue.until(begun=2)


@pytest.mark.slow
async def test_a_heartbeat_that_fails_once_is_not_the_last_one(queue: Queue) -> None:
    """Issue 1463."""
    beat, fails = queue.app.job_manager.update_heartbeat, [True]

    async def fail_once(worker_id: int) -> None:
        if fails:
            fails.clear()
            raise ConnectorException
        await beat(worker_id)

    queue.app.job_manager.update_heartbeat = fail_once  # type: ignore[method-assign]
    async with queue.running():
        await queue.defer()
        await queue.until(begun=1)
        await queue.until_it_beats(since=await queue.heartbeat())
    assert not fails
