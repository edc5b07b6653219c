"""What the embedded index reads from the database, and how much of it stays in memory."""

import subprocess
import sys

import pytest

from agent_core.capabilities.memory import database_vector_index as module
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.records.memory import Memory, MemorySpace, Vector
from agent_core.ports.database import Database
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import NOON, an_agent, keep
from agent_core.testing.memory_index import a_vector, likeness, some_vector

ADA = an_agent()
HERE = "here"
ENOUGH, TOO_LITTLE = 1 << 20, 10


@pytest.fixture
async def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    """A database with Ada in it, who remembers some things; pages are short."""
    monkeypatch.setattr(module, "PAGE_ROWS", 4)
    database = TemporaryDatabase()
    await keep(database, ADA)
    await remember(database, range(10))
    return database


def an_id(number: int) -> MemoryId:
    return MemoryId(f"m{number:04}")


async def remember(database: Database, numbers: range, agent: Agent = ADA, start: str = "") -> None:
    memories = [Memory(id=MemoryId(f"{start}{an_id(each)}"), text="", source="", at=NOON) for each in numbers]
    async with database.begin() as work:
        work.memories.add(agent, memories)
        work.memories.put(agent, HERE, {m.id: some_vector(each) for m, each in zip(memories, numbers, strict=True)})
        await work.commit()


async def found(index: DatabaseVectorIndex, number: int, agent: Agent = ADA) -> list[MemoryId]:
    return [each for each, _ in await index.nearest(MemorySpace.of(agent), HERE, some_vector(number), 99)]


def exactly(number: int, of: range) -> list[MemoryId]:
    return [an_id(each) for each in sorted(of, key=lambda each: -likeness(some_vector(each), some_vector(number)))]


@pytest.mark.parametrize("has_numpy", [True, False])
@pytest.mark.parametrize("room", [ENOUGH, TOO_LITTLE])
async def test_all_pages_are_searched_also_where_there_is_no_room_for_them(
    database: Database, room: int, has_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_numpy:
        monkeypatch.setitem(sys.modules, "numpy", None)
    index = DatabaseVectorIndex(database, max_bytes=room)
    for number in range(10, 20):
        assert await found(index, 3) == exactly(3, range(number))
        await remember(database, range(number, number + 1))
    ((nearest, cosine),) = await index.nearest(MemorySpace.of(ADA), HERE, some_vector(3), 1)
    assert (nearest, round(cosine, 3)) == (an_id(3), 1)


async def test_what_was_made_earlier_and_comes_late_is_found(database: Database) -> None:
    index = DatabaseVectorIndex(database)
    await remember(database, range(20, 30, 2))
    await found(index, 3)
    await remember(database, range(21, 22))
    await remember(database, range(31, 32))
    assert (await found(index, 21))[0] == an_id(21)
    assert len(await found(index, 21)) == 17


async def test_an_agent_that_is_gone_is_not_searched(database: Database) -> None:
    index = DatabaseVectorIndex(database)
    await found(index, 3)
    async with database.begin() as work:
        work.agents.remove(await work.agents.locate(ADA.id))
        await work.commit()
    assert await found(index, 3) == []
    assert not index._held


async def test_the_agents_searched_last_stay_in_memory(database: Database) -> None:
    agents = [an_agent(id=AgentId(f"agent-{each}"), name=f"{each}") for each in range(5)]
    await keep(database, *agents)
    index = DatabaseVectorIndex(database, max_bytes=3 * 10 * len(some_vector(1)))
    for agent in agents:
        await remember(database, range(10), agent, agent.id)
        assert len(await found(index, 1, agent)) == 10
    assert [key.space.agent_id for key in index._held] == ["agent-2", "agent-3", "agent-4"]
    await found(index, 1, agents[2])
    await found(index, 1, agents[0])
    assert [key.space.agent_id for key in index._held] == ["agent-4", "agent-2", "agent-0"]
    await index.drop(MemorySpace.of(agents[2]))
    assert [key.space.agent_id for key in index._held] == ["agent-4", "agent-0"]


@pytest.mark.parametrize("room", [ENOUGH, TOO_LITTLE])
async def test_vectors_of_another_length_are_left_out(database: Database, room: int) -> None:
    async with database.begin() as work:
        odd = [Memory(id=MemoryId(f"n{each}"), text="", source="", at=NOON) for each in range(2)]
        work.memories.add(ADA, odd)
        work.memories.put(ADA, HERE, {odd[0].id: a_vector(1, 2, 3), odd[1].id: Vector(b"odd")})
        await work.commit()
    index = DatabaseVectorIndex(database, max_bytes=room)
    assert await found(index, 3) == exactly(3, range(10))
    assert await index.nearest(MemorySpace.of(ADA), HERE, a_vector(1, 2, 3, 4, 5), 9) == ()


@pytest.mark.slow
def test_numpy_is_not_imported_before_it_is_needed() -> None:
    code = f"import sys; import {module.__name__}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
