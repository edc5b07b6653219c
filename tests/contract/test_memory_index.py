"""What every index of memories keeps: nearest first, and nothing is ever found across spaces."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.memory import Memory, MemorySpace, Vector
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.ports.models import MemoryIndex
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep
from agent_core.testing.memory_index import a_vector, likeness, some_vector
from tests.contract.index_makers import ANY_LENGTH, MAKERS, Opener

ADA = an_agent()
HERE, THERE = "words in an index", "a/b\\c 🦆 *?[x]"
EAST, NORTH, WEST = a_vector(1, 0), a_vector(0, 1), a_vector(-1, 0)
NORTH_EAST, NEARLY_EAST = a_vector(1, 1), a_vector(9, 1)

# Whose memories are never found for Ada: names that a careless key would mix up with hers are among them.
STRANGERS = {
    "another agent of the channel": an_agent(id=AgentId("agent-bob"), name="Bob"),
    "an agent whose id goes on": an_agent(id=AgentId("agent-ada-2"), name="Ada 2"),
    "another channel": an_agent(id=AgentId("agent-eva"), channel=ChannelScope("web", "local", "random")),
    "another workspace": an_agent(id=AgentId("agent-ida"), channel=ChannelScope("web", "other", "general")),
    "another surface": an_agent(id=AgentId("agent-leo"), channel=ChannelScope("slack", "local", "general")),
    "a channel with slashes": an_agent(id=AgentId("agent-mia"), channel=ChannelScope("web", "local/general", "")),
    "odd characters": an_agent(id=AgentId("agent-\\0000-🦆/*"), channel=ChannelScope("web", "..", "%2F\n*?[x]")),
}


@pytest.fixture
async def database(sqlite_url: str) -> AsyncIterator[Database]:
    """A database with Ada in it."""
    database = SqlDatabase(sqlite_url)
    await keep(database, ADA)
    yield database
    await database.close()


@pytest.fixture(params=MAKERS)
def opener(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Opener:
    """What opens the index, again and again."""
    return MAKERS[request.param](database, tmp_path / "index")


@pytest.fixture
async def index(opener: Opener) -> AsyncIterator[MemoryIndex]:
    """An index that is open."""
    async with opener() as index:
        yield index


def a_memory(name: str, agent: Agent = ADA) -> Memory:
    return Memory(id=MemoryId(f"{name}-{agent.id}"[:24]), text=name, source="turn 1", at=NOON)


def ids(*names: str) -> tuple[MemoryId, ...]:
    return tuple(a_memory(name).id for name in names)


async def remember(
    database: Database, index: MemoryIndex, vectors: Mapping[str, Vector], *, agent: Agent = ADA, index_key: str = HERE
) -> None:
    """Save memories of these names with their vectors, and then add them to the index, as is done for agents."""
    memories = [a_memory(name, agent) for name in vectors]
    async with database.begin() as work:
        known = {memory.id for memory in await work.memories.get_many(agent, [memory.id for memory in memories])}
        work.memories.add(agent, [memory for memory in memories if memory.id not in known])
        work.memories.put(
            agent, index_key, {memory.id: vector for memory, vector in zip(memories, vectors.values(), strict=True)}
        )
        await work.commit()
    await index.add(MemorySpace.of(agent), index_key, list(zip(memories, vectors.values(), strict=True)))


async def forget(database: Database, index: MemoryIndex, gone: Sequence[MemoryId]) -> None:
    async with database.begin() as work:
        work.memories.remove(ADA, gone)
        await work.commit()
    await index.forget(MemorySpace.of(ADA), gone)


async def drop(database: Database, index: MemoryIndex, agent: Agent = ADA) -> None:
    async with database.begin() as work:
        work.memories.clear(agent)
        await work.commit()
    await index.drop(MemorySpace.of(agent))


async def nearest(
    index: MemoryIndex, vector: Vector = EAST, most: int = 9, *, agent: Agent = ADA, index_key: str = HERE
) -> tuple[MemoryId, ...]:
    found = await index.nearest(MemorySpace.of(agent), index_key, vector, most)
    return tuple(memory_id for memory_id, _ in found)


@pytest.mark.slow
async def test_the_nearest_comes_first_with_its_cosine(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"west": WEST, "north": NORTH, "nearly": NEARLY_EAST, "between": NORTH_EAST})
    found = await index.nearest(MemorySpace.of(ADA), HERE, EAST, 9)
    assert [memory_id for memory_id, _ in found] == [*ids("nearly", "between", "north", "west")]
    expected = [likeness(EAST, vector) for vector in (NEARLY_EAST, NORTH_EAST, NORTH, WEST)]
    assert [cosine for _, cosine in found] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
async def test_no_more_are_found_than_asked_for(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"west": WEST, "north": NORTH, "east": EAST})
    assert await nearest(index, most=2) == ids("east", "north")
    assert await nearest(index, WEST, most=1) == ids("west")


async def test_a_space_that_nothing_was_added_to_is_empty(index: MemoryIndex) -> None:
    assert await nearest(index) == ()
    assert await nearest(index, agent=STRANGERS["another channel"]) == ()


@pytest.mark.slow
@pytest.mark.parametrize("who", STRANGERS)
async def test_nothing_is_found_across_spaces(database: Database, index: MemoryIndex, who: str) -> None:
    stranger = STRANGERS[who]
    await keep(database, stranger)
    await remember(database, index, {"east": EAST, "north": NORTH})
    await remember(database, index, {"secret": EAST}, agent=stranger)
    assert await nearest(index) == ids("east", "north")
    assert await nearest(index, agent=stranger) == (a_memory("secret", stranger).id,)
    await index.forget(MemorySpace.of(stranger), ids("east", "north"))
    await drop(database, index, stranger)
    assert await nearest(index, agent=stranger) == ()
    assert await nearest(index) == ids("east", "north")


@pytest.mark.slow
async def test_the_same_agent_id_elsewhere_is_another_space(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"east": EAST})
    for channel in (ChannelScope("web", "local", "random"), ChannelScope("web", "other", CHANNEL.channel)):
        moved = replace(ADA, channel=channel)
        assert await nearest(index, agent=moved) == ()
        await index.forget(MemorySpace.of(moved), ids("east"))
        await index.drop(MemorySpace.of(moved))
    assert await nearest(index) == ids("east")


@pytest.mark.slow
async def test_nothing_is_found_in_another_place(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"east": EAST})
    await remember(database, index, {"north": NORTH}, index_key=THERE)
    assert await nearest(index) == ids("east")
    assert await nearest(index, index_key=THERE) == ids("north")
    assert await nearest(index, index_key=f"{HERE} 2") == ()


@pytest.mark.parametrize("opener", ANY_LENGTH, indirect=True)
async def test_places_may_have_vectors_of_different_lengths(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"east": EAST})
    await remember(database, index, {"long": some_vector(1, 64)}, index_key=THERE)
    assert await nearest(index, some_vector(1, 64), index_key=THERE) == ids("long")
    assert await nearest(index) == ids("east")


@pytest.mark.slow
async def test_one_added_again_is_found_by_its_new_vector_only(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"first": EAST, "second": NORTH})
    assert await nearest(index) == ids("first", "second")
    await remember(database, index, {"first": WEST})
    assert await nearest(index) == ids("second", "first")


@pytest.mark.slow
async def test_what_is_added_after_a_search_is_found_by_the_next(database: Database, index: MemoryIndex) -> None:
    for number in range(1, 8):
        await remember(database, index, {f"m{number}": a_vector(1, number)})
        assert await nearest(index, most=99) == ids(*(f"m{each}" for each in range(1, number + 1)))


async def test_an_older_memory_that_is_added_late_is_found_too(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"m5": NORTH})
    assert await nearest(index) == ids("m5")
    await remember(database, index, {"m1": EAST})
    assert await nearest(index) == ids("m1", "m5")


async def test_what_is_forgotten_is_not_found(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"east": EAST, "north": NORTH, "west": WEST})
    assert await nearest(index) == ids("east", "north", "west")
    await forget(database, index, [*ids("east", "west"), MemoryId("never")])
    assert await nearest(index) == ids("north")
    await forget(database, index, ids("east"))
    assert await nearest(index) == ids("north")


async def test_nothing_is_found_in_a_space_that_was_dropped(database: Database, index: MemoryIndex) -> None:
    await remember(database, index, {"east": EAST})
    await remember(database, index, {"north": NORTH}, index_key=THERE)
    assert await nearest(index, index_key=THERE) == ids("north")
    await drop(database, index)
    assert await nearest(index) == await nearest(index, index_key=THERE) == ()
    await drop(database, index)
    await remember(database, index, {"west": WEST})
    assert await nearest(index) == ids("west")


@pytest.mark.slow
async def test_everything_is_found_after_a_restart(database: Database, opener: Opener) -> None:
    async with opener() as index:
        await remember(database, index, {"east": EAST, "north": NORTH})
        assert await nearest(index) == ids("east", "north")
        await remember(database, index, {"nearly": NEARLY_EAST})
    async with opener() as index:
        assert await nearest(index) == ids("east", "nearly", "north")
        await forget(database, index, ids("east"))
    async with opener() as index:
        await remember(database, index, {"west": WEST})
        assert await nearest(index) == ids("nearly", "north", "west")


@pytest.mark.slow
async def test_what_other_processes_do_is_seen(database: Database, opener: Opener) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(opener()) for _ in range(2)]
        await remember(database, one, {"east": EAST})
        assert await nearest(one) == await nearest(other) == ids("east")
        await remember(database, other, {"north": NORTH})
        assert await nearest(one) == await nearest(other) == ids("east", "north")
        await forget(database, one, ids("east"))
        assert await nearest(one) == await nearest(other) == ids("north")
        await drop(database, other)
        assert await nearest(one) == await nearest(other) == ()


async def test_adding_and_forgetting_nothing_does_nothing(database: Database, index: MemoryIndex) -> None:
    await index.add(MemorySpace.of(ADA), HERE, [])
    await index.forget(MemorySpace.of(ADA), [])
    assert await nearest(index) == ()


@pytest.mark.slow
async def test_of_many_the_nearest_are_those_that_are(database: Database, index: MemoryIndex) -> None:
    vectors = {f"m{number:04}": some_vector(number, 64) for number in range(300)}
    await remember(database, index, vectors)
    for seed in ("a", "b", "c"):
        asked = some_vector(seed, 64)
        exact = sorted(vectors, key=lambda name: -likeness(vectors[name], asked))[:10]
        assert await nearest(index, asked, most=10) == ids(*exact)


@pytest.mark.slow
async def test_searches_and_additions_may_overlap(database: Database, index: MemoryIndex) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(12):
            tasks.create_task(remember(database, index, {f"m{number:02}": a_vector(1, number)}))
            tasks.create_task(index.nearest(MemorySpace.of(ADA), HERE, EAST, 9))
    assert await nearest(index, most=99) == ids(*(f"m{number:02}" for number in range(12)))
