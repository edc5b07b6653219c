"""What agents can recall later, on every database: nothing is lost, and nothing is found or touched from elsewhere."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.errors import Conflict
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.memory import Memory, MemoryVersion, Vector
from agent_core.ports.database import Database, UnitOfWork
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep

ADA = an_agent()
BOB = an_agent(id=AgentId("agent-bob"), name="Bob")
EVA = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("web", "local", "random"))
IDA = an_agent(id=AgentId("agent-ida"), channel=ChannelScope("web", "other", "general"))
EVERYONE = (ADA, BOB, EVA, IDA)
STRANGE = "🦆 \u202eأبجد\u202c e\u0301 \x00 \ud800 \\u0000 \\0000 'quoted' %s :name"
HERE, THERE = "pinecone/ada-002", "embedded/words"
ONE, TWO = Vector(bytes(range(8))), Vector(b"\x00\xff" * 4)


def memories_of(agent: Agent, number: int = 3) -> tuple[Memory, ...]:
    """Memories with an id that says whose they are; the oldest first."""
    return tuple(
        Memory(
            id=MemoryId(f"m-{agent.id}-{each:04}"),
            text=f"{agent.name} saw {each} ducks.",
            source=f"turn {each}",
            at=NOON + timedelta(seconds=each),
            turn=each,
        )
        for each in range(number)
    )


def ids(memories: Sequence[Memory]) -> tuple[MemoryId, ...]:
    return tuple(memory.id for memory in memories)


async def everyone_remembers(database: Database) -> None:
    """Each agent has three memories, all of them in one place."""
    await keep(database, *EVERYONE)
    async with database.begin() as work:
        for agent in EVERYONE:
            work.memories.add(agent, memories_of(agent))
            work.memories.put(agent, HERE, dict.fromkeys(ids(memories_of(agent)), ONE))
        await work.commit()


async def done(database: Database, *acts: Callable[[UnitOfWork], None]) -> None:
    async with database.begin() as work:
        for act in acts:
            act(work)
        await work.commit()


def adding(agent: Agent) -> Callable[[UnitOfWork], None]:
    return lambda work: work.memories.add(agent, memories_of(agent))


def putting(memory: Memory) -> Callable[[UnitOfWork], None]:
    return lambda work: work.memories.put(ADA, HERE, {memory.id: ONE})


def removing(memory: Memory) -> Callable[[UnitOfWork], None]:
    return lambda work: work.memories.remove(ADA, [memory.id])


async def asked(database: Database, ask: Callable[[UnitOfWork], Awaitable[object]]) -> object:
    async with database.begin() as work:
        return await ask(work)


async def all_of(database: Database, agent: Agent) -> object:
    """Everything that is kept for the agent."""
    async with database.begin() as work:
        return (
            await work.memories.of(agent, most=99),
            await work.memories.count(agent),
            await work.memories.vectors(agent, HERE, most=99),
            await work.memories.version(agent),
        )


async def test_a_memory_comes_back_as_it_was(database: Database) -> None:
    await keep(database, ADA)
    memory = Memory(id=MemoryId("m-1"), text=STRANGE, source=STRANGE, at=NOON + timedelta(microseconds=7), turn=9)
    await done(database, lambda work: work.memories.add(ADA, [memory]))
    async with database.begin() as work:
        assert await work.memories.of(ADA, most=9) == (memory,)
        assert await work.memories.get_many(ADA, [memory.id]) == (memory,)


async def test_the_newest_memories_come_first_and_page_by_page(database: Database) -> None:
    await keep(database, ADA)
    memories = memories_of(ADA, 12)
    await done(database, lambda work: work.memories.add(ADA, memories[6:]), lambda w: w.memories.add(ADA, memories[:6]))
    async with database.begin() as work:
        assert await work.memories.of(ADA, most=5) == memories[:6:-1]
        assert await work.memories.of(ADA, most=5, before=memories[7].id) == memories[6:1:-1]
        assert await work.memories.of(ADA, most=99, before=memories[2].id) == memories[1::-1]
        assert await work.memories.of(ADA, most=0) == ()
        assert await work.memories.count(ADA) == 12


async def test_some_memories_come_in_the_order_asked_without_those_that_are_not_there(database: Database) -> None:
    await keep(database, ADA)
    first, second, third = memories_of(ADA)
    await done(database, lambda work: work.memories.add(ADA, [first, second, third]))
    async with database.begin() as work:
        wanted = [third.id, MemoryId("never"), MemoryId(STRANGE), first.id]
        assert await work.memories.get_many(ADA, wanted) == (third, first)
        assert await work.memories.get_many(ADA, []) == ()


async def test_a_memory_is_nowhere_until_it_is_put_there(database: Database) -> None:
    await keep(database, ADA)
    first, second, third = memories_of(ADA)
    await done(database, lambda work: work.memories.add(ADA, [first, second, third]))
    async with database.begin() as work:
        assert await work.memories.list_unindexed(ADA, HERE, most=2) == (first, second)
        assert await work.memories.vectors(ADA, HERE, most=9) == ()
    await done(database, lambda work: work.memories.put(ADA, HERE, {second.id: ONE, third.id: TWO}))
    async with database.begin() as work:
        assert await work.memories.list_unindexed(ADA, HERE, most=9) == (first,)
        assert await work.memories.list_unindexed(ADA, THERE, most=9) == (first, second, third)
        assert await work.memories.vectors(ADA, HERE, most=9) == ((second.id, ONE), (third.id, TWO))
        assert await work.memories.vectors(ADA, THERE, most=9) == ()


async def test_a_memory_is_in_the_place_it_was_put_last(database: Database) -> None:
    await everyone_remembers(database)
    first, second, third = ids(memories_of(ADA))
    await done(database, lambda work: work.memories.put(ADA, THERE, {second: TWO}))
    async with database.begin() as work:
        assert await work.memories.vectors(ADA, HERE, most=9) == ((first, ONE), (third, ONE))
        assert await work.memories.vectors(ADA, THERE, most=9) == ((second, TWO),)
        assert ids(await work.memories.list_unindexed(ADA, HERE, most=9)) == (second,)
        assert ids(await work.memories.list_unindexed(ADA, THERE, most=9)) == (first, third)


async def test_vectors_come_by_id_and_page_by_page(database: Database) -> None:
    await keep(database, ADA)
    memories = memories_of(ADA, 7)
    vectors = {memory.id: Vector(memory.id.encode()) for memory in memories}
    await done(database, lambda w: w.memories.add(ADA, memories), lambda w: w.memories.put(ADA, HERE, vectors))
    async with database.begin() as work:
        assert await work.memories.vectors(ADA, HERE, most=4) == tuple(vectors.items())[:4]
        assert await work.memories.vectors(ADA, HERE, after=memories[3].id, most=4) == tuple(vectors.items())[4:]
        assert await work.memories.vectors(ADA, HERE, after=memories[6].id, most=4) == ()


async def test_what_is_added_may_be_put_in_the_same_unit(database: Database) -> None:
    await keep(database, ADA)
    first, second, _ = memories_of(ADA)
    await done(
        database,
        lambda work: work.memories.add(ADA, [first]),
        lambda work: work.memories.put(ADA, HERE, {first.id: ONE}),
        lambda work: work.memories.add(ADA, [second]),
        lambda work: work.memories.put(ADA, THERE, {first.id: TWO}),
    )
    async with database.begin() as work:
        assert await work.memories.vectors(ADA, HERE, most=9) == ()
        assert await work.memories.vectors(ADA, THERE, most=9) == ((first.id, TWO),)
        assert await work.memories.version(ADA) == MemoryVersion(added=2, removed=1)


async def test_changes_count_the_vectors_that_came_and_went(database: Database) -> None:
    await keep(database, ADA)
    memories = memories_of(ADA, 5)
    first, second, third, fourth, _ = ids(memories)
    steps: list[tuple[Callable[[UnitOfWork], None], MemoryVersion]] = [
        (lambda work: work.memories.add(ADA, memories), MemoryVersion(0, 0)),
        (lambda work: work.memories.put(ADA, HERE, dict.fromkeys((first, second, third), ONE)), MemoryVersion(3, 0)),
        (lambda work: work.memories.put(ADA, HERE, {first: TWO}), MemoryVersion(4, 1)),
        (lambda work: work.memories.put(ADA, THERE, {first: TWO, fourth: ONE}), MemoryVersion(6, 2)),
        (lambda work: work.memories.put(ADA, HERE, {MemoryId("never"): ONE}), MemoryVersion(6, 2)),
        (lambda work: work.memories.remove(ADA, [second, second, MemoryId("never")]), MemoryVersion(6, 3)),
        (lambda work: work.memories.remove(ADA, [second]), MemoryVersion(6, 3)),
        (lambda work: work.memories.put(ADA, HERE, {}), MemoryVersion(6, 3)),
        (lambda work: work.memories.clear(ADA), MemoryVersion(6, 6)),
        (lambda work: work.memories.clear(ADA), MemoryVersion(6, 6)),
    ]
    for act, expected in steps:
        await done(database, act)
        assert await asked(database, lambda work: work.memories.version(ADA)) == expected


async def test_changes_of_units_at_once_are_all_counted(database: Database) -> None:
    await keep(database, ADA)
    memories = memories_of(ADA, 12)
    await done(database, lambda work: work.memories.add(ADA, memories))
    async with asyncio.TaskGroup() as tasks:
        for memory in memories:
            tasks.create_task(done(database, putting(memory)))
            tasks.create_task(done(database, removing(memory)))
    async with database.begin() as work:
        left = await work.memories.vectors(ADA, HERE, most=99)
        version = await work.memories.version(ADA)
        assert await work.memories.count(ADA) == len(left)
        assert version.added - version.removed == len(left)


async def test_agents_that_are_behind_come_by_id(database: Database) -> None:
    await everyone_remembers(database)
    async with database.begin() as work:
        assert await work.memories.list_agents_unindexed(HERE, most=9) == ()
        assert await work.memories.list_agents_unindexed(THERE, most=9) == tuple(agent.id for agent in EVERYONE)
        assert await work.memories.list_agents_unindexed(THERE, most=2) == (ADA.id, BOB.id)
    await done(database, lambda work: work.memories.add(IDA, [replace(memories_of(IDA)[0], id=MemoryId("new"))]))
    await done(database, lambda work: work.memories.put(BOB, THERE, {memories_of(BOB)[1].id: TWO}))
    async with database.begin() as work:
        assert await work.memories.list_agents_unindexed(HERE, most=9) == (BOB.id, IDA.id)


async def test_a_memory_that_is_removed_leaves_the_others(database: Database) -> None:
    await everyone_remembers(database)
    first, second, third = memories_of(ADA)
    await done(database, lambda work: work.memories.remove(ADA, [second.id, MemoryId("never")]))
    async with database.begin() as work:
        assert await work.memories.of(ADA, most=9) == (third, first)
        assert await work.memories.vectors(ADA, HERE, most=9) == ((first.id, ONE), (third.id, ONE))


async def test_a_memory_taken_away_elsewhere_is_left_out_and_is_no_conflict(database: Database) -> None:
    await everyone_remembers(database)
    first, second, third = ids(memories_of(ADA))
    async with database.begin() as one, database.begin() as other:
        one.memories.put(ADA, THERE, {first: TWO, second: TWO})
        one.memories.remove(ADA, [second, third])
        other.memories.remove(ADA, [second, third])
        await other.commit()
        await one.commit()
    async with database.begin() as work:
        assert await work.memories.vectors(ADA, THERE, most=9) == ((first, TWO),)
        assert await work.memories.version(ADA) == MemoryVersion(added=4, removed=3)


async def test_what_is_put_for_an_agent_that_is_gone_is_left_out_and_is_no_conflict(database: Database) -> None:
    await everyone_remembers(database)
    async with database.begin() as late, database.begin() as work:
        work.agents.remove(await work.agents.locate(ADA.id))
        late.memories.put(ADA, HERE, {memories_of(ADA)[0].id: TWO})
        late.memories.remove(ADA, ids(memories_of(ADA)))
        late.memories.clear(ADA)
        await work.commit()
        await late.commit()
    assert await all_of(database, ADA) == ((), 0, (), MemoryVersion())


async def test_nothing_is_remembered_for_an_agent_that_is_not_there(database: Database) -> None:
    await keep(database, EVA)
    for agent in (ADA, replace(EVA, channel=CHANNEL)):
        with pytest.raises(Conflict):
            await done(database, adding(agent))
    assert await asked(database, lambda work: work.memories.list_agents_unindexed(HERE, most=9)) == ()


async def test_removing_an_agent_removes_what_it_remembers(database: Database) -> None:
    await everyone_remembers(database)
    others = [await all_of(database, agent) for agent in EVERYONE[1:]]
    async with database.begin() as work:
        work.agents.remove(await work.agents.locate(ADA.id))
        await work.commit()
    assert await all_of(database, ADA) == ((), 0, (), MemoryVersion())
    assert [await all_of(database, agent) for agent in EVERYONE[1:]] == others
    assert await asked(database, lambda work: work.memories.list_agents_unindexed(THERE, most=9)) == (
        BOB.id,
        EVA.id,
        IDA.id,
    )
    await keep(database, ADA)
    await done(database, lambda work: work.memories.add(ADA, memories_of(ADA)))
    assert await asked(database, lambda work: work.memories.version(ADA)) == MemoryVersion()


# Who reads, and whose memories they must not find: of another agent, channel, workspace; an agent's id elsewhere.
STRANGERS = {
    "another agent": (BOB, ADA),
    "another channel": (EVA, ADA),
    "another workspace": (IDA, ADA),
    "the same id in another channel": (replace(ADA, channel=EVA.channel), ADA),
    "the same id in another workspace": (replace(ADA, channel=IDA.channel), ADA),
    "another id in the same channel": (replace(BOB, id=AgentId("agent-%")), ADA),
}


@pytest.mark.parametrize("who", STRANGERS)
async def test_no_read_finds_the_memories_of_others(database: Database, who: str) -> None:
    await everyone_remembers(database)
    stranger, owner = STRANGERS[who]
    secret = set(ids(memories_of(owner)))
    await done(database, lambda work: work.memories.put(owner, THERE, dict.fromkeys(secret, TWO)))
    async with database.begin() as work:
        assert not secret & set(ids(await work.memories.of(stranger, most=99)))
        assert not secret & set(ids(await work.memories.of(stranger, most=99, before=MemoryId("zzz"))))
        assert await work.memories.get_many(stranger, [*secret]) == ()
        assert not secret & set(ids(await work.memories.list_unindexed(stranger, HERE, most=99)))
        assert await work.memories.vectors(stranger, THERE, most=99) == ()
        assert await work.memories.vectors(stranger, THERE, after=MemoryId(""), most=99) == ()
        assert await work.memories.count(stranger) == (3 if stranger in EVERYONE else 0)
        assert await work.memories.version(stranger) == MemoryVersion(3 if stranger in EVERYONE else 0)


@pytest.mark.parametrize("who", STRANGERS)
async def test_no_write_touches_the_memories_of_others(database: Database, who: str) -> None:
    await everyone_remembers(database)
    stranger, owner = STRANGERS[who]
    secret = ids(memories_of(owner))
    before = await all_of(database, owner)
    await done(database, lambda work: work.memories.put(stranger, THERE, dict.fromkeys(secret, TWO)))
    await done(database, lambda work: work.memories.remove(stranger, secret))
    await done(database, lambda work: work.memories.clear(stranger))
    with pytest.raises(Conflict):
        await done(database, lambda work: work.memories.add(stranger, memories_of(owner)))
    assert await all_of(database, owner) == before
