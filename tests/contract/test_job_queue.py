"""The engine with Procrastinate's queue, on a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import Connection

from agent_core.engines.job_queue import JobQueueEngine
from agent_core.errors import Superseded
from agent_core.model.agent import Awaiting, Thinking
from agent_core.model.ids import AgentId, WorkerId
from agent_core.model.worker import Worker
from agent_core.persistence.connections import job_queue_address
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import an_agent, keep
from tests.patience import PATIENCE_SECONDS
from tests.tables import on_database

RESTS = an_agent(status=Awaiting())
ADA = replace(RESTS, status=Thinking())
BEE = replace(RESTS, id=AgentId("agent-bee"), name="Bee")


@dataclass
class Recorder:
    """Advances agents by noting them; each stays as long as `holds`."""

    holds: bool = False
    begun: list[AgentId] = field(default_factory=list)
    cancelled: list[AgentId] = field(default_factory=list)
    at_once: dict[AgentId, int] = field(default_factory=dict)
    overlapped: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def advance(self, agent_id: AgentId) -> None:
        self.begun.append(agent_id)
        self.at_once[agent_id] = self.at_once.get(agent_id, 0) + 1
        self.overlapped = self.overlapped or self.at_once[agent_id] > 1
        await self._tell()
        try:
            if self.holds:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(agent_id)
            await self._tell()
            raise
        finally:
            self.at_once[agent_id] -= 1

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
            await self.changed.wait_for(happened)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


@dataclass
class Place:
    """A database, in which each engine has a connection of its own."""

    url: str
    database: SqlDatabase

    @asynccontextmanager
    async def engine(self, loop: Recorder) -> AsyncIterator[JobQueueEngine]:
        """An engine that runs."""
        engine = JobQueueEngine(
            address=job_queue_address(self.url), database=self.database, clock=SystemClock(), surfaces=("web",)
        )
        async with engine.connect():
            running = asyncio.create_task(engine.run(loop.advance))
            try:
                yield engine
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    async def wake(self, engine: JobQueueEngine, agent_id: AgentId) -> None:
        async with self.database.begin() as work:
            engine.wake(work, agent_id)
            await work.commit()


@pytest.fixture
async def place(postgres: str, database: SqlDatabase) -> AsyncIterator[Place]:
    """An empty database with an empty queue."""
    yield Place(postgres, database)

    def empty(connection: Connection) -> None:
        connection.exec_driver_sql("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")

    await on_database(postgres, empty)


pytestmark = pytest.mark.parametrize("url", ["postgres"], indirect=True)


async def test_a_wake_takes_effect_with_its_commit(place: Place) -> None:
    loop = Recorder()
    await keep(place.database, RESTS)
    async with place.engine(loop) as engine:
        async with place.database.begin() as work:
            engine.wake(work, RESTS.id)  # and is not committed
        await keep(place.database, BEE)
        await place.wake(engine, BEE.id)
        await loop.until(lambda: BEE.id in loop.begun)
    assert set(loop.begun) == {BEE.id}


async def test_an_agent_is_advanced_by_one_job_at_a_time_and_again_for_what_came_meanwhile(place: Place) -> None:
    loop = Recorder(holds=True)
    await keep(place.database, RESTS)
    async with place.engine(loop) as first, place.engine(loop) as second:
        await place.wake(first, RESTS.id)
        await loop.until(lambda: len(loop.begun) == 1)
        await place.wake(second, RESTS.id)
        loop.gate.set()
        await loop.until(lambda: len(loop.begun) == 2)
    assert not loop.overlapped


async def test_an_interruption_cancels_the_job_of_another_process_and_has_the_agent_advanced_again(
    place: Place,
) -> None:
    loop = Recorder(holds=True)
    await keep(place.database, RESTS)
    async with place.engine(loop) as first:
        await place.wake(first, RESTS.id)
        await loop.until(lambda: len(loop.begun) == 1)
        async with place.engine(loop) as second, place.database.begin() as work:
            second.interrupt(work, RESTS.id)
            await work.commit()
            await loop.until(lambda: loop.cancelled == [RESTS.id])
            await loop.until(lambda: len(loop.begun) == 2)
    assert not loop.overlapped


async def test_the_fence_tells_an_engine_that_it_lost_an_agent(place: Place) -> None:
    loop = Recorder()
    await keep(place.database, RESTS)
    async with place.engine(loop) as first, place.engine(loop) as second:
        taken = await first.take(RESTS.id)
        await first.confirm(RESTS.id)
        assert (await second.take(RESTS.id)).fence == taken.fence + 1
        with pytest.raises(Superseded):
            await first.confirm(RESTS.id)
        await second.confirm(RESTS.id)


async def test_a_due_agent_without_a_job_is_swept_up(place: Place) -> None:
    loop = Recorder()
    await keep(place.database, ADA)
    async with place.engine(loop):
        await loop.until(lambda: ADA.id in loop.begun)


async def test_a_claim_that_another_engine_left_keeps_no_agent_back(place: Place) -> None:
    loop = Recorder()
    await keep(place.database, ADA)
    dead = Worker(WorkerId("dead.1"), "", accepts=True)
    async with place.database.begin() as work:
        work.workers.join(dead)
        work.workers.claim(ADA.id, dead.id, ADA.fence)
        await work.commit()
    async with place.engine(loop):
        await loop.until(lambda: ADA.id in loop.begun)


async def test_a_drain_gives_running_jobs_their_time_and_counts_those_that_it_cancels(place: Place) -> None:
    loop = Recorder(holds=True)
    await keep(place.database, RESTS)
    await keep(place.database, BEE)
    async with place.engine(loop) as engine:
        await place.wake(engine, RESTS.id)
        await loop.until(lambda: RESTS.id in loop.begun)
        assert await engine.drain(0.1) == len(set(loop.begun))
    assert RESTS.id in loop.cancelled


async def test_a_deleted_agent_is_not_queued(place: Place) -> None:
    loop = Recorder()
    await keep(place.database, BEE)
    async with place.engine(loop) as engine:
        await place.wake(engine, AgentId("agent-nobody"))
        await place.wake(engine, BEE.id)
        await loop.until(lambda: BEE.id in loop.begun)
    assert AgentId("agent-nobody") not in loop.begun


async def test_a_job_is_written_with_the_agent_that_it_is_for(place: Place) -> None:
    loop = Recorder()
    async with place.engine(loop) as engine:
        async with place.database.begin() as work:
            work.agents.add(RESTS)
            engine.wake(work, RESTS.id)
            await work.commit()
        await loop.until(lambda: loop.begun == [RESTS.id])
