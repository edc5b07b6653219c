"""What every engine keeps: an agent is advanced once at a time, no wake is lost, and one agent's fault is its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from agent_core.engines import local
from agent_core.engines.local import MAX_UNSETTLED, SWEEP_SECONDS, LocalEngine
from agent_core.engines.worker_registry import WorkerRegistry
from agent_core.errors import DatabaseAway
from agent_core.model.agent import Awaiting
from agent_core.model.channels import ThreadRef
from agent_core.model.ids import AgentId
from agent_core.ports.broadcast import Peers
from agent_core.ports.database import UnitOfWork
from agent_core.testing.broadcast import LinkedBroadcast
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep
from bot.worker import work
from tests.patience import PATIENCE_SECONDS
from tests.waking import interrupt, wake

ADA, BEE = AgentId("ada"), AgentId("bee")
THREAD = ThreadRef(CHANNEL, "thread-1")


@dataclass(slots=True)
class Recorder:
    """A loop that records; each advance lasts until it is let go, where `holds` says so."""

    holds: bool = False
    begun: list[AgentId] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    paused: list[tuple[AgentId, str]] = field(default_factory=list)
    fault: Exception | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def advance(self, agent_id: AgentId) -> None:
        self.begun.append(agent_id)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self._tell()
        try:
            if self.holds:
                await self.gate.wait()
            if self.fault and agent_id == ADA and len(self.begun) == 1:
                raise self.fault
        finally:
            self.at_once -= 1

    async def pause(self, agent_id: AgentId, reason: str) -> None:
        self.paused.append((agent_id, reason))
        await self._tell()

    async def until(self, begun: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
            await self.changed.wait_for(lambda: len(self.begun) >= begun)

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


@dataclass(slots=True)
class Absent:
    """A database that is away the first few times it is asked."""

    database: TemporaryDatabase
    times: int

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        if self.times > 0:
            self.times -= 1
            raise DatabaseAway
        async with self.database.begin() as unit:
            yield unit


@asynccontextmanager
async def running(engine: LocalEngine, loop: Recorder) -> AsyncIterator[None]:
    task = asyncio.create_task(work(engine, loop))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def engine_of(
    database: object | None = None, clock: FakeClock | None = None, registry: WorkerRegistry | None = None
) -> LocalEngine:
    database, clock = database or TemporaryDatabase(), clock or FakeClock()
    registry = registry or WorkerRegistry(database=database, clock=clock)  # type: ignore[arg-type]
    return LocalEngine(database=database, clock=clock, surfaces=("web",), registry=registry)  # type: ignore[arg-type]


@pytest.mark.proves("engine:one-at-a-time")
async def test_a_wake_during_an_advance_brings_one_more_and_never_two_at_once() -> None:
    engine, loop = engine_of(), Recorder(holds=True)
    async with running(engine, loop):
        wake(engine, ADA)
        await loop.until(1)
        for _ in range(5):
            wake(engine, ADA)
        loop.gate.set()
        await loop.until(2)
    assert (loop.begun, loop.most_at_once) == ([ADA, ADA], 1)


async def test_different_agents_are_advanced_beside_each_other() -> None:
    engine, loop = engine_of(), Recorder(holds=True)
    async with running(engine, loop):
        wake(engine, ADA)
        wake(engine, BEE)
        await loop.until(2)
    assert loop.most_at_once == 2


@pytest.mark.proves("engine:fault")
async def test_a_fault_pauses_its_agent_with_a_sentence_and_leaves_the_others_alone() -> None:
    engine, loop = engine_of(), Recorder(fault=RuntimeError("a secret detail"))
    async with running(engine, loop):
        wake(engine, ADA)
        await loop.until(1)
        wake(engine, BEE)
        await loop.until(2)
    assert loop.paused == [
        (ADA, "Something went wrong inside Signoff (RuntimeError); the log says what. Resume tries again.")
    ]
    assert loop.begun == [ADA, BEE]


@pytest.mark.proves("database:restart")
async def test_an_outage_of_the_database_pauses_no_agent_and_is_not_logged_for_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = Absent(TemporaryDatabase(), times=1)
    engine, loop = engine_of(database), Recorder(fault=DatabaseAway("The database is away."))
    async with running(engine, loop):
        for number, agent in enumerate((ADA, BEE), 1):
            wake(engine, agent)
            await loop.until(number)
    assert (loop.begun, loop.paused, caplog.records) == ([ADA, BEE], [], [])


@pytest.mark.proves("engine:interrupt")
async def test_an_interrupt_ends_what_runs_at_once_and_wakes_the_agent() -> None:
    engine, loop = engine_of(), Recorder(holds=True)
    async with running(engine, loop):
        wake(engine, ADA)
        await loop.until(1)
        interrupt(engine, ADA)
        await loop.until(2)
    assert loop.most_at_once == 1


@pytest.mark.proves("engine:sweep")
async def test_an_agent_whose_wake_was_lost_is_found_by_the_sweep() -> None:
    clock, database, loop = FakeClock(NOON), TemporaryDatabase(), Recorder()
    async with running(engine_of(database, clock), loop):
        await clock.until_sleeping()
        await keep(database, an_agent(id=ADA))
        clock.advance(1)
        await loop.until(1)
    assert loop.begun[0] == ADA


async def test_a_database_that_is_away_is_asked_again() -> None:
    clock, database, loop = FakeClock(NOON), TemporaryDatabase(), Recorder()
    await keep(database, an_agent(id=ADA))
    async with running(engine_of(Absent(database, 1), clock), loop):
        await clock.until_sleeping()
        clock.advance(1)
        await loop.until(1)
    assert loop.begun[0] == ADA


async def test_who_only_waits_for_people_is_left_in_peace() -> None:
    clock, database, loop = FakeClock(NOON), TemporaryDatabase(), Recorder()
    await keep(database, an_agent(id=ADA, status=Awaiting()), an_agent(id=BEE, name="Bee"))
    async with running(engine_of(database, clock), loop):
        await loop.until(1)
    assert ADA not in loop.begun


@pytest.mark.proves("engine:drain")
async def test_a_draining_engine_begins_nothing_and_waits_for_what_runs() -> None:
    engine, loop = engine_of(), Recorder(holds=True)
    async with running(engine, loop):
        wake(engine, ADA)
        await loop.until(1)
        draining = asyncio.create_task(engine.drain(PATIENCE_SECONDS))
        await asyncio.wait([draining], timeout=0)
        wake(engine, BEE)
        wake(engine, ADA)  # as Stop does: what it saved is shown
        loop.gate.set()
        assert await draining == 0
    assert (loop.begun, engine.in_progress) == ([ADA, ADA], 0)


@pytest.mark.proves("engine:drain")
async def test_what_people_did_just_before_is_shown() -> None:
    """The loop, which drains too, shows what is saved and begins nothing."""
    engine, loop = engine_of(), Recorder()
    async with running(engine, loop):
        wake(engine, BEE)
        await loop.until(1)
        wake(engine, ADA)
        assert await engine.drain(PATIENCE_SECONDS) == 0
    assert loop.begun == [BEE, ADA]


@pytest.mark.proves("engine:drain")
async def test_an_agent_whose_step_does_not_end_is_not_advanced_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "CANCEL_SECONDS", 0.01)
    monkeypatch.setattr(local, "SHOWING_SECONDS", 0.01)
    engine, ending, begun = engine_of(), asyncio.Event(), list[AgentId]()

    async def advance(agent_id: AgentId) -> None:
        begun.append(agent_id)
        while not ending.is_set():
            with suppress(asyncio.CancelledError):
                await ending.wait()

    working = asyncio.create_task(engine.run(advance))
    wake(engine, ADA)
    while not begun:
        await asyncio.wait([working], timeout=0)
    wake(engine, ADA)
    await engine.drain(0)
    assert begun == [ADA]
    ending.set()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


@pytest.mark.proves("engine:drain")
async def test_what_does_not_end_in_its_time_is_cancelled() -> None:
    engine, loop = engine_of(), Recorder(holds=True)
    async with running(engine, loop):
        wake(engine, ADA)
        wake(engine, BEE)
        await loop.until(2)
        assert await engine.drain(0) == 2
        assert (loop.at_once, engine.in_progress) == (0, 0)


@dataclass(slots=True)
class Faulty:
    """A database whose first query fails in a way that nobody foresaw."""

    database: TemporaryDatabase
    times: int = 1

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        if self.times > 0:
            self.times -= 1
            raise RuntimeError("57P03")
        async with self.database.begin() as unit:
            yield unit


async def test_no_fault_of_a_sweep_ends_the_engine() -> None:
    clock, database, loop = FakeClock(NOON), TemporaryDatabase(), Recorder()
    await keep(database, an_agent(id=ADA))
    async with running(engine_of(Faulty(database), clock), loop):
        await clock.until_sleeping()
        clock.advance(1)
        await loop.until(1)
    assert loop.begun[0] == ADA


@pytest.mark.proves("engine:order")
async def test_a_hundred_agents_with_eight_wakes_each_lose_none() -> None:
    engine, loop = engine_of(), Recorder()
    agents = [AgentId(f"agent {number}") for number in range(100)]
    async with running(engine, loop):
        for number in range(8):
            for agent_id in agents:
                wake(engine, agent_id)
            await loop.until(100 * (number + 1))
    assert sorted(loop.begun) == sorted(agents * 8)


async def test_at_the_start_and_after_the_death_of_a_worker_the_agents_are_woken_that_changed_last() -> None:
    """It may have ended between a save and the status line that tells of it."""
    database, clock = TemporaryDatabase(), FakeClock()
    last = an_agent(thread=THREAD, status=Awaiting(), since=NOON)
    helpers = {f"helper {number}": {"parent": ADA} for number in range(2 * MAX_UNSETTLED)}
    names: dict[str, dict[str, Any]] = {
        "ada": {},
        "bee": {"since": NOON - timedelta(minutes=1)},
        "dan": {"thread": None},
        **helpers,
    }
    await keep(database, *(replace(last, id=AgentId(name), name=name, **new) for name, new in names.items()))
    engine, loop = engine_of(database, clock), Recorder()
    async with running(engine, loop):
        await loop.until(begun=1)
        engine.registry.on_death()
        clock.advance(SWEEP_SECONDS)
        await loop.until(begun=2)
        for _ in range(3):
            await clock.until_sleeping()
            clock.advance(SWEEP_SECONDS)
    assert loop.begun == [ADA, ADA]


async def test_a_dead_worker_is_left_to_a_process_that_takes_agents() -> None:
    database, clock, gone = TemporaryDatabase(), FakeClock(), set[str]()
    ends: list[LinkedBroadcast] = []

    def process(name: str) -> LocalEngine:
        peers = Peers(broadcast=LinkedBroadcast(ends), process=name, is_gone=gone.__contains__)
        return engine_of(database, clock, registry=WorkerRegistry(database=database, clock=clock, peers=peers))

    killed, web, living = process("killed"), process("web"), process("living")
    standing_by = asyncio.create_task(web.stand_by())
    for each in (killed, living):
        await each.registry.look()
    agents = [
        an_agent(id=AgentId(f"a{n}"), name=f"a{n}", thread=THREAD, status=Awaiting(), since=NOON) for n in range(9)
    ]
    loop = Recorder()
    async with running(living, loop):
        await clock.until_sleeping()
        await keep(database, *agents)
        gone.add("killed")
        for _ in range(4):
            await web.registry.look()
        clock.advance(SWEEP_SECONDS)
        await loop.until(begun=9)
    standing_by.cancel()
    await asyncio.gather(standing_by, return_exceptions=True)
    assert sorted(loop.begun) == [each.id for each in agents]
