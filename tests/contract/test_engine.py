"""What both engines keep: an agent is advanced once at a time, no wake is lost, and one agent's fault is its own."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from agent_core.engines import local
from agent_core.engines.job_queue import JobQueueEngine
from agent_core.engines.local import LocalEngine
from agent_core.errors import Conflict, DatabaseAway
from agent_core.model.agent import Awaiting, Thinking
from agent_core.model.ids import AgentId
from agent_core.persistence.connections import job_queue_address
from agent_core.persistence.database import SqlDatabase, SqlUnitOfWork
from agent_core.ports.engine import Engine, EngineParts
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import an_agent, keep
from agent_core.text.own_commands import process_text
from bot.worker import work
from tests.patience import PATIENCE_SECONDS
from tests.tables import on_database

ADA = an_agent(id=AgentId("ada"), status=Awaiting())
BEE = replace(ADA, id=AgentId("bee"), name="Bee")
BUSY = replace(ADA, status=Thinking())


@dataclass
class Recorder:
    """A loop that records. Each advance lasts until the gate opens, where `holds` says so."""

    holds: bool = False
    fault: Exception | None = None
    during: Callable[[], Awaitable[None]] | None = None
    begun: list[AgentId] = field(default_factory=list)
    cancelled: list[AgentId] = field(default_factory=list)
    paused: list[tuple[AgentId, str]] = field(default_factory=list)
    inside: Counter[AgentId] = field(default_factory=Counter)
    most_at_once: int = 0
    has_overlapped: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def advance(self, agent_id: AgentId) -> None:
        self.begun.append(agent_id)
        self.inside[agent_id] += 1
        self.has_overlapped |= self.inside[agent_id] > 1
        self.most_at_once = max(self.most_at_once, self.inside.total())
        await self._tell()
        try:
            if self.during:
                await self.during()
            if self.holds:
                await self.gate.wait()
            if self.fault and agent_id == ADA.id and len(self.begun) == 1:
                raise self.fault
        except asyncio.CancelledError:
            self.cancelled.append(agent_id)
            await self._tell()
            raise
        finally:
            self.inside[agent_id] -= 1
            await self._tell()

    async def pause(self, agent_id: AgentId, reason: str) -> None:
        self.paused.append((agent_id, reason))
        await self._tell()

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
            await self.changed.wait_for(happened)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


class Absent:
    """A database that fails the first time it is asked."""

    def __init__(self, database: SqlDatabase, fault: Exception) -> None:
        self.database, self.faults = database, [fault]

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        if self.faults:
            raise self.faults.pop()
        async with self.database.begin() as unit:
            yield unit


@dataclass
class Place:
    """A database and its engine: on SQLite the local one, on PostgreSQL the queue of jobs."""

    url: str
    database: SqlDatabase

    def make(self, **parts: Any) -> Engine:
        whole = EngineParts(**{"database": self.database, "clock": SystemClock(), "surfaces": ("web",), **parts})
        address = job_queue_address(self.url)
        return JobQueueEngine(whole, address) if address else LocalEngine(whole)

    @asynccontextmanager
    async def running(self, loop: Recorder, **parts: Any) -> AsyncIterator[Engine]:
        engine = self.make(**parts)
        async with engine.connect():
            task = asyncio.create_task(work(engine, loop))
            try:
                yield engine
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def wake(self, engine: Engine, *agent_ids: AgentId) -> None:
        async with self.database.begin() as unit:
            for agent_id in agent_ids:
                engine.wake(unit, agent_id)
            await unit.commit()

    async def interrupt(self, engine: Engine, agent_id: AgentId) -> None:
        async with self.database.begin() as unit:
            engine.interrupt(unit, agent_id)
            await unit.commit()


@pytest.fixture
async def place(url: str, database: SqlDatabase) -> AsyncIterator[Place]:
    """A database with two agents that wait for people, and an empty queue."""
    place = Place(url, database)
    await keep(database, ADA, BEE)
    yield place
    if not job_queue_address(url):
        return

    def empty(connection: Connection) -> None:
        connection.exec_driver_sql("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")

    await on_database(url, empty)


@pytest.mark.proves("engine:commit")
async def test_a_wake_takes_effect_with_its_commit(place: Place) -> None:
    loop = Recorder()
    async with place.running(loop) as engine:
        async with place.database.begin() as unit:
            engine.wake(unit, ADA.id)  # and is not committed
        await place.wake(engine, BEE.id)
        await loop.until(lambda: BEE.id in loop.begun)
    assert set(loop.begun) == {BEE.id}


async def test_a_new_agent_is_woken_by_the_commit_that_saves_it(place: Place) -> None:
    loop, new = Recorder(), replace(ADA, id=AgentId("new"), name="New")
    async with place.running(loop) as engine:
        async with place.database.begin() as unit:
            unit.agents.add(new)
            engine.wake(unit, new.id)
            await unit.commit()
        await loop.until(lambda: new.id in loop.begun)


@pytest.mark.proves("engine:one-at-a-time")
async def test_a_wake_during_an_advance_brings_one_more_and_never_two_at_once(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: loop.begun == [ADA.id])
        await place.wake(engine, ADA.id)
        loop.gate.set()
        await loop.until(lambda: loop.begun == [ADA.id] * 2)
    assert not loop.has_overlapped


@pytest.mark.proves("engine:fault")
async def test_a_fault_pauses_its_agent_with_a_sentence_and_leaves_the_others_alone(place: Place) -> None:
    loop = Recorder(fault=RuntimeError("a secret detail"))
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: bool(loop.paused))
        await place.wake(engine, BEE.id)
        await loop.until(lambda: BEE.id in loop.begun)
    assert loop.paused == [
        (ADA.id, "Something went wrong inside Signoff (RuntimeError); the log says what. Resume tries again.")
    ]


@pytest.mark.proves("database:restart")
async def test_an_outage_of_the_database_pauses_no_agent_and_is_not_logged_for_each(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    loop = Recorder(fault=DatabaseAway("The database is away."))
    async with place.running(loop) as engine:
        for agent in (ADA, BEE):
            await place.wake(engine, agent.id)
            await loop.until(lambda agent=agent: agent.id in loop.begun)  # type: ignore[misc]
    assert (loop.paused, caplog.records) == ([], [])


@pytest.mark.proves("engine:interrupt", "workers:stop")
async def test_an_interrupt_ends_what_runs_and_wakes_the_agent(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: loop.begun == [ADA.id])
        await place.interrupt(engine, ADA.id)
        await loop.until(lambda: len(loop.begun) == 2)
    assert loop.cancelled[0] == ADA.id
    assert not loop.has_overlapped


@pytest.mark.proves("engine:sweep")
async def test_an_agent_whose_wake_was_lost_is_found_by_the_sweep(place: Place) -> None:
    loop, busy = Recorder(), replace(BUSY, id=AgentId("busy"), name="Busy")
    async with place.running(loop):
        await keep(place.database, busy)
        await loop.until(lambda: busy.id in loop.begun)
    assert set(loop.begun) == {busy.id}, "who waits for people is left in peace"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [DatabaseAway(), RuntimeError("57P03")], ids=type)
async def test_no_fault_of_a_sweep_ends_the_engine(place: Place, fault: Exception) -> None:
    loop, busy = Recorder(), replace(BUSY, id=AgentId("busy"), name="Busy")
    await keep(place.database, busy)
    async with place.running(loop, database=Absent(place.database, fault)):
        await loop.until(lambda: busy.id in loop.begun)


@pytest.mark.proves("engine:drain")
async def test_a_draining_engine_begins_nothing_and_waits_for_what_runs(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: loop.begun == [ADA.id])
        draining = asyncio.create_task(engine.drain(PATIENCE_SECONDS))
        await asyncio.wait([draining], timeout=0)
        await place.wake(engine, BEE.id)
        loop.gate.set()
        assert await draining == 0
        assert engine.in_progress == 0
    assert BEE.id not in loop.begun


@pytest.mark.proves("engine:drain")
async def test_what_does_not_end_in_its_time_is_cancelled(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id, BEE.id)
        await loop.until(lambda: loop.most_at_once == 2)
        assert await engine.drain(0) == 2
        assert (loop.inside.total(), engine.in_progress) == (0, 0)


@pytest.mark.proves("engine:order")
async def test_fifty_agents_with_four_wakes_each_lose_none(place: Place) -> None:
    loop = Recorder()
    team = [replace(ADA, id=AgentId(f"agent {number}"), name=f"A{number}") for number in range(50)]
    await keep(place.database, *team)
    async with place.running(loop) as engine:
        for number in range(1, 5):
            await place.wake(engine, *(each.id for each in team))
            await loop.until(lambda number=number: all(loop.begun.count(each.id) >= number for each in team))  # type: ignore[misc]


async def test_an_agent_that_does_not_exist_is_no_fault(place: Place) -> None:
    loop = Recorder()
    async with place.running(loop) as engine:
        await place.wake(engine, AgentId("nobody"), BEE.id)
        await loop.until(lambda: BEE.id in loop.begun)
    assert loop.paused == []


@pytest.mark.slow
@pytest.mark.proves("workers:programs")
async def test_an_agent_with_background_programs_is_looked_at_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be stopped or deleted by another process, which cannot end them."""
    monkeypatch.setattr(local, "SWEEPS_BETWEEN_CHECKS", 1)
    loop, programs = Recorder(), [ADA.id]
    async with place.running(loop, list_with_programs=lambda: tuple(programs)) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: len(loop.begun) >= 2)
        programs.clear()


only_the_queue = pytest.mark.parametrize("url", ["postgres"], indirect=True)


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:programs")
async def test_programs_of_an_interrupted_agent_end_with_its_job(place: Place) -> None:
    """It was stopped or deleted, and what is queued for it may run elsewhere, or nowhere."""
    loop, programs, ended = Recorder(), [ADA.id], list[AgentId]()

    async def end(agent_id: AgentId) -> None:
        ended.append(agent_id)
        programs.clear()

    async with place.running(loop, list_with_programs=lambda: tuple(programs), end_programs=end) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: bool(loop.begun))
        async with place.database.begin() as unit:
            unit.agents.remove(await unit.agents.locate(ADA.id))
            engine.interrupt(unit, ADA.id)
            await unit.commit()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while ended != [ADA.id]:
                await SystemClock().sleep(0.01)


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:claim", "workers:many")
async def test_two_workers_never_advance_one_agent_at_once(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as first, place.running(loop) as second:
        await place.wake(first, ADA.id)
        await loop.until(lambda: loop.begun == [ADA.id])
        await place.wake(second, ADA.id)
        loop.gate.set()
        await loop.until(lambda: loop.begun == [ADA.id] * 2)
    assert not loop.has_overlapped


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:stop")
async def test_an_interrupt_reaches_a_step_in_another_process(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as working:
        await place.wake(working, ADA.id)
        await loop.until(lambda: loop.begun == [ADA.id])
        web = place.make()
        async with web.connect():
            await place.interrupt(web, ADA.id)
            await loop.until(lambda: loop.cancelled == [ADA.id])


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:claim", "workers:zombie")
async def test_who_lost_the_job_cannot_claim_its_agent_again(place: Place) -> None:
    tried = list[str]()

    async def claim() -> None:
        async with place.database.begin() as unit:
            unit.agents.save((await unit.agents.locate(ADA.id)).claim())
            engine.hold(unit, ADA.id)
            await unit.commit()

    async def claim_twice() -> None:
        await claim()
        await on_database(place.url, lambda connection: connection.exec_driver_sql("DELETE FROM procrastinate_jobs"))
        try:
            await claim()
        except Conflict:
            tried.append("refused")

    loop = Recorder(during=claim_twice)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        await loop.until(lambda: loop.inside.total() == 0 and bool(loop.begun))
    assert tried == ["refused"]


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("engine:order")
async def test_a_waiting_job_is_enough_for_many_wakes(place: Place) -> None:
    engine = place.make()
    async with engine.connect():
        for _ in range(20):
            await place.wake(engine, ADA.id, BEE.id)

        def count(connection: Connection) -> int:
            return int(connection.exec_driver_sql("SELECT count(*) FROM procrastinate_jobs").scalar_one())

        assert await on_database(place.url, count) == 2


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:leave")
async def test_an_agent_of_a_worker_that_drains_is_woken_for_the_others(place: Place) -> None:
    ending, living = Recorder(holds=True), Recorder()
    async with place.running(ending) as first:
        await place.wake(first, ADA.id)
        await ending.until(lambda: ending.begun == [ADA.id])
        async with place.running(living):
            assert await first.drain(0.1) == 1
            await living.until(lambda: ADA.id in living.begun)


@pytest.mark.slow
@only_the_queue
@pytest.mark.proves("workers:none")
async def test_workers_are_counted_as_long_as_they_beat(place: Place) -> None:
    web, loop = place.make(), Recorder()
    async with web.connect():
        async with place.database.begin() as unit:
            assert await unit.jobs.count_workers() == 0
        async with place.running(loop) as engine:
            await place.wake(engine, ADA.id)
            await loop.until(lambda: bool(loop.begun))
            async with place.database.begin() as unit:
                assert await unit.jobs.count_workers() == 1
        async with place.database.begin() as unit:
            assert await unit.jobs.count_workers() == 0


@pytest.mark.slow
@only_the_queue
async def test_an_agent_of_a_terminal_is_left_to_its_own_process(place: Place) -> None:
    loop, channel = Recorder(), replace(ADA.channel, surface="terminal")
    typed = replace(ADA, id=AgentId("typed"), channel=channel)
    await keep(place.database, typed)
    async with place.running(loop, surfaces=("web", "terminal")) as engine:
        await place.wake(engine, typed.id)
        await place.wake(engine, ADA.id)
        await loop.until(lambda: ADA.id in loop.begun)
    assert typed.id not in loop.begun


@pytest.mark.slow
async def test_workers_name_what_they_hold_and_the_queue_what_waits(place: Place) -> None:
    loop = Recorder(holds=True)
    async with place.running(loop) as engine:
        await place.wake(engine, ADA.id)
        async with loop.changed:
            await loop.changed.wait_for(lambda: loop.begun)
        await place.wake(engine, ADA.id)
        async with place.database.begin() as unit:
            workers, queue = await unit.jobs.list_workers(), await unit.jobs.state()
        loop.gate.set()
    if queue is None:
        assert workers == ()
        return
    assert [(each.number, each.agents) for each in workers] == [(1, (ADA.id,))]
    assert process_text().startswith(workers[0].name)  # PostgreSQL cuts long names
    assert workers[0].name.startswith("Process ")
    assert (queue.waiting, queue.running) == (1, 1)
    assert queue.oldest
    assert abs(queue.oldest - SystemClock().now()) < timedelta(minutes=5)
