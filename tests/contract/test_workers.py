"""Several workers on one database: each agent is one worker's, until that gives it up or dies."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from agent_core.engines.local import LocalEngine
from agent_core.engines.worker_registry import BEAT_SECONDS, OWN_SECONDS, WorkerRegistry
from agent_core.engines.worker_sightings import TAKEOVER_SECONDS
from agent_core.errors import NotFound, Superseded
from agent_core.model.agent import Agent, Stopped, Thinking
from agent_core.model.channels import SurfaceName
from agent_core.model.ids import AgentId, WorkerId
from agent_core.ports.broadcast import ALONE, NoBroadcast, Peers
from agent_core.ports.database import Database, in_one_unit
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, NOON, an_agent, keep
from tests.patience import PATIENCE_SECONDS

ADA = an_agent(status=Thinking(activity="thinking for 9 s"))
BEE = replace(ADA, id=AgentId("agent-bee"), name="Bee")


class Team:
    """Workers on one database, with one clock that a test moves."""

    def __init__(self, database: Database) -> None:
        self.database, self.clock, self.gone = database, FakeClock(), set[str]()
        self.broadcast = NoBroadcast()  # not the one that says that there are no others

    def worker(self, process: str = "") -> WorkerRegistry:
        return WorkerRegistry(
            database=self.database,
            clock=self.clock,
            peers=Peers(broadcast=self.broadcast, process=process, is_gone=self.gone.__contains__),
        )

    async def pass_time(self, seconds: float, *workers: WorkerRegistry) -> None:
        """Let time pass; these workers are alive."""
        for _ in range(int(seconds / BEAT_SECONDS)):
            self.clock.advance(BEAT_SECONDS)
            for worker in workers:
                await worker.look()

    async def give_up(self, worker: WorkerRegistry, agent: Agent) -> None:
        async with self.database.begin() as work:
            worker.give_up(work, await work.agents.locate(agent.id))
            await work.commit()
        worker.forget(agent.id)

    async def list_ids(self) -> list[WorkerId]:
        async with self.database.begin() as work:
            return [each.id for each in await work.workers.list_all()]

    async def due(self, worker: WorkerRegistry) -> tuple[AgentId, ...]:
        async with self.database.begin() as work:
            return await work.agents.due(("web",), NOON, worker.worker_id)


@pytest.fixture
async def team(database: Database) -> Team:
    await keep(database, ADA)
    await keep(database, BEE)
    return Team(database)


@pytest.mark.proves("workers:claim")
async def test_an_agent_that_one_worker_has_is_not_taken_by_another(team: Team) -> None:
    first, second = team.worker(), team.worker()
    taken = await first.take(ADA.id)
    assert (taken.fence, taken.status) == (ADA.fence + 1, Thinking())
    with pytest.raises(Superseded):
        await second.take(ADA.id)
    assert (await team.due(first), await team.due(second)) == ((ADA.id, BEE.id), (BEE.id,))
    await team.give_up(first, ADA)
    assert (await second.take(ADA.id)).fence == ADA.fence + 2
    with pytest.raises(Superseded):
        await first.confirm(ADA.id)


async def test_a_worker_that_has_an_agent_takes_it_again_without_a_save(team: Team) -> None:
    worker = team.worker()
    assert await worker.take(ADA.id) == await worker.take(ADA.id)


async def test_an_agent_that_was_deleted_is_not_there_and_its_claim_is_gone(team: Team) -> None:
    worker = team.worker()
    await worker.take(ADA.id)

    async with team.database.begin() as work:
        work.agents.remove(await work.agents.locate(ADA.id))
        await work.commit()
    async with team.database.begin() as work:
        assert await work.workers.claimant(ADA.id) is None
    worker.forget(ADA.id)
    with pytest.raises(NotFound):
        await worker.take(ADA.id)


@pytest.mark.proves("workers:death")
async def test_agents_of_a_worker_without_heartbeats_are_free_after_some_seconds(team: Team) -> None:
    dead, living, watcher = team.worker(), team.worker(), team.worker()
    await dead.take(ADA.id)
    await living.take(BEE.id)
    lost = dead.worker_id
    await watcher.look()
    await team.pass_time(TAKEOVER_SECONDS - 1, watcher, living)
    with pytest.raises(Superseded):
        await watcher.take(ADA.id)
    await team.pass_time(2, watcher, living)
    assert lost not in await team.list_ids()
    assert (await watcher.take(ADA.id)).fence == ADA.fence + 2
    with pytest.raises(Superseded):
        await watcher.take(BEE.id)


@pytest.mark.proves("workers:zombie")
async def test_a_worker_that_comes_back_begins_nothing_for_what_it_lost(team: Team) -> None:
    zombie, watcher, losses = team.worker(), team.worker(), list[AgentId]()
    zombie.on_loss = lambda lost: losses.extend(lost)
    await zombie.take(ADA.id)
    await watcher.look()
    await team.pass_time(TAKEOVER_SECONDS + 1, watcher)
    with pytest.raises(Superseded):
        await zombie.confirm(ADA.id)
    assert losses == [ADA.id]
    await watcher.take(ADA.id)
    with pytest.raises(Superseded):
        await zombie.take(ADA.id)
    await zombie.take(BEE.id)


async def test_a_worker_confirms_without_the_database_as_long_as_its_heartbeat_is_young(team: Team) -> None:
    worker = team.worker()
    await worker.take(ADA.id)
    team.clock.advance(OWN_SECONDS - 1)
    worker.database = None  # type: ignore[assignment]
    await worker.confirm(ADA.id)
    worker.database = team.database
    team.clock.advance(OWN_SECONDS)
    await worker.confirm(ADA.id)
    with pytest.raises(Superseded):
        await worker.confirm(BEE.id)


@pytest.mark.proves("workers:outage")
async def test_nobody_is_taken_for_dead_because_the_database_was_away(team: Team) -> None:
    worker, watcher = team.worker(), team.worker()
    await worker.take(ADA.id)
    await watcher.look()
    team.clock.advance(60)  # the database was away, so nobody could beat
    await watcher.look()
    await team.pass_time(TAKEOVER_SECONDS * 2, worker, watcher)
    await worker.confirm(ADA.id)
    assert {worker.worker_id, watcher.worker_id} == set(await team.list_ids())


@pytest.mark.proves("workers:death")
async def test_agents_of_a_process_that_has_ended_are_taken_at_once(team: Team) -> None:
    killed, other = team.worker("killed"), team.worker()
    await killed.take(ADA.id)
    await other.take(BEE.id)
    team.gone.add("killed")
    assert (await other.take(ADA.id)).fence == ADA.fence + 2


@pytest.mark.proves("workers:leave")
async def test_a_worker_that_leaves_frees_its_agents_and_takes_none_any_more(team: Team) -> None:
    leaving, other = team.worker(), team.worker()
    await leaving.take(ADA.id)
    await leaving.leave()
    with pytest.raises(Superseded):
        await leaving.take(BEE.id)
    await other.take(ADA.id)


@pytest.mark.proves("workers:claim")
async def test_a_claim_whose_confirmation_was_lost_is_given_up_or_taken_again(team: Team) -> None:
    worker, other = team.worker(), team.worker()
    await worker.take(ADA.id)
    await worker.take(BEE.id)
    worker.claimed.clear()  # as if neither commit had been answered
    assert (await worker.take(ADA.id)).fence == ADA.fence + 2
    await team.pass_time(11, worker)
    await other.take(BEE.id)
    await worker.confirm(ADA.id)


@pytest.mark.proves("workers:share")
async def test_each_agent_is_preferred_by_one_worker_and_each_worker_gets_its_part(team: Team) -> None:
    workers = [team.worker() for _ in range(3)]
    for worker in (*workers, *workers):
        await worker.look()
    agents = [AgentId(f"agent-{number}") for number in range(300)]
    shares = [{agent for agent in agents if worker.prefers(agent)} for worker in workers]
    assert sum(map(len, shares)) == len(set().union(*shares)) == len(agents)
    assert min(map(len, shares)) > 50


async def test_a_worker_that_drains_is_preferred_for_nothing(team: Team) -> None:
    draining, other = team.worker(), team.worker()
    for worker in (draining, other):
        await worker.look()
    await draining.drain()
    await other.look()
    assert not draining.prefers(ADA.id)
    assert other.prefers(ADA.id)


async def test_a_worker_that_is_alone_and_idle_writes_nothing(team: Team) -> None:
    worker = team.worker()
    worker.peers = ALONE
    await worker.look()
    await team.pass_time(30, worker)
    async with team.database.begin() as work:
        (row,) = await work.workers.list_all()
    assert row.beats == 0


@pytest.mark.proves("workers:forget")
async def test_a_worker_knows_whether_another_had_an_agent_in_between(team: Team) -> None:
    first, second = team.worker(), team.worker()
    assert not first.was_elsewhere(await first.take(ADA.id))
    await team.give_up(first, ADA)
    assert not first.was_elsewhere(await first.take(ADA.id))
    await team.give_up(first, ADA)
    assert second.was_elsewhere(await second.take(ADA.id))
    await team.give_up(second, ADA)
    assert first.was_elsewhere(await first.take(ADA.id))


async def test_a_worker_that_was_removed_while_it_took_an_agent_joins_again(team: Team) -> None:
    worker, other = team.worker(), team.worker()
    await worker.look()
    before = worker.worker_id

    async def remove(work: object) -> None:
        for each in await work.workers.list_all():  # type: ignore[attr-defined]
            work.workers.remove(each)  # type: ignore[attr-defined]

    await in_one_unit(team.database, remove)
    await worker.take(ADA.id)
    assert worker.worker_id not in (None, before)
    with pytest.raises(Superseded):
        await other.take(ADA.id)


@pytest.mark.proves("workers:claim")
async def test_a_worker_takes_no_agent_of_a_platform_that_it_does_not_serve(team: Team) -> None:
    terminal, web = team.worker(), team.worker()
    terminal.surfaces = frozenset[SurfaceName]({"terminal"})
    with pytest.raises(Superseded):
        await terminal.take(ADA.id)
    assert not terminal.claimed
    await web.take(ADA.id)


@dataclass(slots=True)
class Programs:
    """Stands for a loop and its background programs: each agent keeps its worker until its programs are ended."""

    registry: WorkerRegistry
    taken: asyncio.Queue[AgentId] = field(default_factory=asyncio.Queue)
    ended: asyncio.Queue[AgentId] = field(default_factory=asyncio.Queue)

    async def advance(self, agent_id: AgentId) -> None:
        try:
            agent = await self.registry.take(agent_id)
        except NotFound:
            self.registry.forget(agent_id)
            await self.end(agent_id)
            return
        self.taken.put_nowait(agent_id)
        if agent.is_at_rest:
            await self.end(agent_id)

    async def end(self, agent_id: AgentId) -> None:
        self.ended.put_nowait(agent_id)


@pytest.mark.proves("workers:programs")
@pytest.mark.parametrize("how", ["stopped", "deleted", "lost"])
async def test_programs_end_when_their_agent_is_stopped_or_deleted_or_lost_elsewhere(team: Team, how: str) -> None:
    registry = team.worker()
    engine = LocalEngine(database=team.database, clock=team.clock, surfaces=("web",), registry=registry)
    programs = Programs(registry)
    engine.end_programs = programs.end
    running = asyncio.create_task(engine.run(programs.advance))
    await _until(programs.taken, ADA.id)
    await team.clock.until_sleeping()
    async with team.database.begin() as work:
        agent = await work.agents.locate(ADA.id)
        if how == "stopped":
            work.agents.save(agent.become(Stopped(by=ANA), NOON))
        elif how == "deleted":
            work.agents.remove(agent)
        else:
            for worker in await work.workers.list_all():
                work.workers.remove(worker)
        await work.commit()
    team.clock.advance(BEAT_SECONDS)
    await _until(programs.ended, ADA.id)
    running.cancel()
    await asyncio.wait([running])


async def _until(queue: asyncio.Queue[AgentId], agent_id: AgentId) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await queue.get() != agent_id:
            continue
