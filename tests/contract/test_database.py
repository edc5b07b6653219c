"""What every unit of work keeps, on every database."""

import asyncio
from dataclasses import replace

import pytest

from agent_core.errors import Conflict, NotFound
from agent_core.model.agent import Agent, Awaiting, Paused
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_note, a_turn, an_agent, an_entry, keep
from tests.standins.everyone import everyone

ADA = an_agent()
TURN = a_turn(ADA)
THREAD = ThreadRef(CHANNEL, "1719.0001")
ELSEWHERE = ChannelScope("web", "local", "random")


async def now(database: Database, agent: Agent = ADA) -> Agent:
    async with database.begin() as work:
        return await work.agents.locate(agent.id)


async def test_leaving_without_a_commit_leaves_no_trace(database: Database) -> None:
    async with database.begin() as work:
        work.agents.add(ADA)
        work.turns.add(TURN)
        work.preferences.put(CHANNEL, "form", "as it was")
        assert await work.deliveries.first_time("event-1", NOON)
    async with database.begin() as work:
        assert await everyone(work) == ()
        assert await work.turns.of(ADA, last=9) == ()
        assert await work.preferences.get(CHANNEL, "form") is None
        assert await work.deliveries.first_time("event-1", NOON)


async def test_the_second_of_two_overlapping_decisions_conflicts(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as first, database.begin() as second:
        approved = (await first.turns.get(CHANNEL, TURN.id)).decide(Approve(), by=ANA, at=NOON)
        rejected = (await second.turns.get(CHANNEL, TURN.id)).decide(Reject("no"), by=BEN, at=NOON)
        first.turns.save(approved)
        second.turns.save(rejected)
        await first.commit()
        with pytest.raises(Conflict):
            await second.commit()
    async with database.begin() as work:
        assert await work.turns.get(CHANNEL, TURN.id) == approved


async def test_the_first_of_two_reads_counts(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as first, database.begin() as second:
        await first.agents.get(CHANNEL, ADA.id)
        second.agents.save(replace(await second.agents.get(CHANNEL, ADA.id), fence=7))
        await second.commit()
        first.agents.save(await first.agents.get(CHANNEL, ADA.id))
        with pytest.raises(Conflict):
            await first.commit()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["of", "asking", "named", "locate", "in_thread", "owned", "listening"])
async def test_a_record_from_a_list_conflicts_too(database: Database, way: str) -> None:
    await keep(database, replace(ADA, status=Awaiting(), thread=THREAD))
    async with database.begin() as first, database.begin() as second:
        agents = {
            "of": await first.agents.of(CHANNEL),
            "asking": await first.agents.list_awaiting_people([CHANNEL], 9),
            "named": (await first.agents.find_by_name(CHANNEL, "ada"),),
            "locate": (await first.agents.locate(ADA.id),),
            "in_thread": (await first.agents.in_thread(THREAD),),
            "owned": await first.agents.list_by_owner("web", "local", ANA.id),
            "listening": await first.agents.list_with_thread("web", NOON),
        }
        agent = agents[way][0]
        assert agent
        second.agents.save(await second.agents.locate(ADA.id))
        await second.commit()
        first.agents.save(agent)
        with pytest.raises(Conflict):
            await first.commit()


async def test_a_conflict_saves_nothing_of_its_unit(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as first, database.begin() as second:
        first.turns.save(replace(await first.turns.get(CHANNEL, TURN.id), remark="one"))
        second.agents.save(replace(await second.agents.locate(ADA.id), complaint="lost"))
        second.audit.append(an_entry(ADA))
        second.turns.save(replace(await second.turns.get(CHANNEL, TURN.id), remark="two"))
        await first.commit()
        with pytest.raises(Conflict):
            await second.commit()
    async with database.begin() as work:
        assert await work.agents.locate(ADA.id) == ADA
        assert await work.audit.of(ADA) == ()


async def test_overlapping_saves_of_different_records_both_survive(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as first, database.begin() as second:
        first.agents.save(replace(await first.agents.locate(ADA.id), fence=3))
        second.turns.save(replace(await second.turns.get(CHANNEL, TURN.id), remark="seen"))
        await first.commit()
        await second.commit()
    async with database.begin() as work:
        assert (await work.agents.locate(ADA.id)).fence == 3
        assert (await work.turns.get(CHANNEL, TURN.id)).remark == "seen"


async def test_a_record_merely_read_does_not_conflict(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as first, database.begin() as second:
        await first.agents.locate(ADA.id)
        first.turns.save(await first.turns.get(CHANNEL, TURN.id))
        second.agents.save(replace(await second.agents.locate(ADA.id), fence=3))
        await second.commit()
        await first.commit()
    assert (await now(database)).fence == 3


async def test_a_record_saved_again_and_again_moves_on(database: Database) -> None:
    await keep(database, ADA)
    for fence in range(1, 4):
        async with database.begin() as work:
            work.agents.save(replace(await work.agents.locate(ADA.id), fence=fence))
            await work.commit()
    assert await now(database) == replace(ADA, fence=3)


async def test_the_last_of_two_saves_in_a_unit_is_kept(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as work:
        agent = await work.agents.locate(ADA.id)
        work.agents.save(replace(agent, fence=1))
        work.agents.save(replace(agent, fence=2))
        await work.commit()
    assert (await now(database)).fence == 2


async def test_what_is_added_may_be_saved_in_the_same_unit(database: Database) -> None:
    async with database.begin() as work:
        work.agents.add(ADA)
        work.turns.add(TURN)
        work.agents.save(replace(ADA, turns=1))
        work.turns.save(replace(TURN, remark="at once"))
        await work.commit()
    async with database.begin() as work:
        assert await work.agents.locate(ADA.id) == replace(ADA, turns=1)
        assert await work.turns.get(CHANNEL, TURN.id) == replace(TURN, remark="at once")


async def test_get_gives_what_is_to_be_saved_and_lists_what_was(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        paused = (await work.agents.locate(ADA.id)).become(Paused("a rest"), NOON)
        withdrawn = (await work.turns.get(CHANNEL, TURN.id)).stop(ANA, NOON)
        work.agents.save(paused)
        work.turns.save(withdrawn)
        assert await work.agents.get(CHANNEL, ADA.id) == await work.agents.locate(ADA.id) == paused
        assert await work.agents.find_by_name(CHANNEL, "Ada") == paused
        assert await work.turns.get(CHANNEL, TURN.id) == withdrawn
        assert await work.agents.of(CHANNEL) == await everyone(work) == (ADA,)
        assert await work.turns.of(ADA, last=1) == (TURN,)


async def test_what_is_to_be_saved_stays_in_its_channel(database: Database) -> None:
    async with database.begin() as work:
        work.agents.add(ADA)
        work.turns.add(TURN)
        with pytest.raises(NotFound):
            await work.agents.get(ELSEWHERE, ADA.id)
        with pytest.raises(NotFound):
            await work.turns.get(ELSEWHERE, TURN.id)


async def test_what_is_to_be_removed_is_not_found(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as work:
        agent = await work.agents.locate(ADA.id)
        work.agents.remove(agent)
        assert await work.agents.find_by_name(CHANNEL, "Ada") is None
        with pytest.raises(NotFound):
            await work.agents.get(CHANNEL, ADA.id)
        with pytest.raises(LookupError):
            work.agents.save(agent)


async def test_saving_what_was_never_read_is_a_mistake_of_the_program(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        with pytest.raises(LookupError):
            work.agents.save(ADA)
        with pytest.raises(LookupError):
            work.turns.save(TURN)


async def test_a_unit_that_committed_is_over(database: Database) -> None:
    async with database.begin() as work:
        work.agents.add(ADA)
        await work.commit()
        with pytest.raises(RuntimeError):
            await work.agents.get(CHANNEL, ADA.id)
        with pytest.raises(RuntimeError):
            work.agents.save(ADA)
        with pytest.raises(RuntimeError):
            work.notes.add(a_note(ADA))
        with pytest.raises(RuntimeError):
            await work.commit()


async def test_a_unit_that_was_left_is_over(database: Database) -> None:
    async with database.begin() as work:
        pass
    with pytest.raises(RuntimeError):
        await work.turns.of(ADA, last=1)
    with pytest.raises(RuntimeError):
        await work.commit()


async def test_saving_an_agent_that_was_removed_conflicts(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as first, database.begin() as second:
        first.agents.save(await first.agents.locate(ADA.id))
        second.agents.remove(await second.agents.locate(ADA.id))
        await second.commit()
        with pytest.raises(Conflict):
            await first.commit()


@pytest.mark.slow
async def test_many_units_at_once_lose_no_change(database: Database) -> None:
    await keep(database, ADA)

    async def count(work: UnitOfWork) -> None:
        agent = await work.agents.locate(ADA.id)
        work.agents.save(replace(agent, fence=agent.fence + 1))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(12):
            tasks.create_task(in_one_unit(database, count))
    assert (await now(database)).fence == 12


@pytest.mark.slow
async def test_a_commit_that_is_cancelled_is_whole_or_nothing(database: Database) -> None:
    await keep(database, ADA)
    for ticks in range(25):
        agent = replace(ADA, id=AgentId(f"agent-{ticks}"), name=f"Agent {ticks}")
        saving = asyncio.create_task(keep(database, agent, a_turn(agent), an_entry(agent, id=f"entry-{ticks}")))
        for _ in range(ticks):
            await asyncio.wait({saving}, timeout=0)
        saving.cancel()
        await asyncio.wait({saving})
        assert saving.cancelled() or saving.exception() is None
        async with database.begin() as work:
            is_there = await work.agents.find_by_name(CHANNEL, agent.name) is not None
            assert len(await work.turns.of(agent, last=1)) == len(await work.audit.of(agent)) == int(is_there)


async def test_what_follows_a_commit_waits_for_one_that_takes_effect(database: Database) -> None:
    await keep(database, ADA)
    told: list[str] = []
    async with database.begin() as first, database.begin() as second, database.begin() as third:
        first.after_commit(lambda: told.append("left"))
        second.after_commit(lambda: told.append("saved"))
        third.after_commit(lambda: told.append("conflicted"))
        for work in (second, third):
            work.agents.save(replace(await work.agents.locate(ADA.id), turns=7))
        assert told == []
        await second.commit()
        with pytest.raises(Conflict):
            await third.commit()
    assert told == ["saved"]
