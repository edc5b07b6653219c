"""The files of the embedded index: derived, never trusted, and no more of them in memory than there is room for."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_core.errors import MemoryAway
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId
from agent_core.model.memory import Memory, MemorySpace, MemoryVersion, Vector
from agent_core.ports.database import Database
from agent_core.providers.vector_index.database_vector_index import DatabaseVectorIndex
from agent_core.providers.vector_index.nearest import BLOCK_VECTORS, MAX_LATEST_IDS, SignCodes, floats
from agent_core.providers.vector_index.vector_file import HEADER, VectorFile
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import NOON, an_agent, keep
from agent_core.testing.memory_index import a_vector, likeness, some_vector

ADA = an_agent()
HERE = "here"
DIGEST = b"d" * 32


@pytest.fixture
async def database() -> Database:
    """A database with Ada in it, who remembers some things."""
    database = TemporaryDatabase()
    await keep(database, ADA)
    await remember(database, range(10))
    return database


@contextmanager
def opened(database: Database, folder: Path, *, few: int = 4, room: int = 1 << 20) -> Iterator[DatabaseVectorIndex]:
    index = DatabaseVectorIndex(database, folder, max_in_memory=few, max_bytes=room)
    yield index
    index.close()


def an_id(number: int) -> MemoryId:
    return MemoryId(f"m{number:04}")


def a_row(number: int) -> tuple[MemoryId, Vector]:
    return an_id(number), some_vector(number)


async def remember(database: Database, numbers: range, agent: Agent = ADA, start: str = "") -> None:
    memories = [Memory(id=MemoryId(f"{start}{an_id(each)}"), text="", source="", at=NOON) for each in numbers]
    async with database.begin() as work:
        work.memories.add(agent, memories)
        work.memories.put(agent, HERE, {m.id: some_vector(each) for m, each in zip(memories, numbers, strict=True)})
        await work.commit()


async def found(index: DatabaseVectorIndex, number: int, most: int = 99) -> list[MemoryId]:
    return [each for each, _ in await index.nearest(MemorySpace.of(ADA), HERE, some_vector(number), most)]


def exactly(number: int, of: range) -> list[MemoryId]:
    return [an_id(each) for each in sorted(of, key=lambda each: -likeness(some_vector(each), some_vector(number)))]


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def the_file(folder: Path) -> Path:
    (path,) = files(folder)
    return path


async def test_a_space_with_few_vectors_needs_no_file(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path, few=10) as index:
        assert await found(index, 3) == exactly(3, range(10))
        assert files(tmp_path) == []
        await remember(database, range(10, 12))
        assert await found(index, 3) == exactly(3, range(12))
        assert len(files(tmp_path)) == 1


async def test_a_space_that_shrinks_needs_its_file_no_more(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        assert await found(index, 3) == exactly(3, range(10))
        async with database.begin() as work:
            work.memories.remove(ADA, [an_id(each) for each in range(8)])
            await work.commit()
        assert await found(index, 3) == exactly(3, range(8, 10))
    assert files(tmp_path) == []


async def test_a_file_is_of_use_after_a_restart(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        await found(index, 3)
    before = the_file(tmp_path).stat()
    with opened(database, tmp_path) as index:
        assert await found(index, 3) == exactly(3, range(10))
        after = the_file(tmp_path).stat()
        assert after.st_mtime_ns == before.st_mtime_ns
        await remember(database, range(10, 12))
        assert await found(index, 11) == exactly(11, range(12))


async def test_a_file_that_grows_keeps_what_it_had(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        await found(index, 3)
        before = the_file(tmp_path).read_bytes()
        await remember(database, range(10, 11))
        await found(index, 3)
        record = (len(before) - HEADER.size) // 10
        assert len(the_file(tmp_path).read_bytes()) == len(before) + record
        assert the_file(tmp_path).read_bytes().startswith(before)


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut in the header": lambda data: data[:20],
    "cut after the header": lambda data: data[: HEADER.size],
    "cut in the middle": _cut,
    "cut at the end": lambda data: data[:-1],
    "other bytes behind": lambda data: data + b"x" * 1000,
    "another mark": _flipped(0),
    "no coordinates": lambda data: data[:8] + bytes(8) + data[16:],
    "too many coordinates": lambda data: data[:8] + b"\xff" * 8 + data[16:],
    "more coordinates": _flipped(8),
    "another space": _flipped(20),
    "a bit of the first vector": _flipped(HEADER.size + 3),
    "a bit in the middle": lambda data: _flipped(len(data) // 2)(data),
    "the last checksum": _flipped(-1),
    "zeros": lambda data: bytes(len(data)),
    "the header and zeros": lambda data: data[: HEADER.size] + bytes(len(data) - HEADER.size),
}


@pytest.mark.parametrize("how", DAMAGES)
async def test_a_file_found_damaged_is_made_anew(database: Database, tmp_path: Path, how: str) -> None:
    with opened(database, tmp_path) as index:
        await found(index, 3)
    sound = the_file(tmp_path).read_bytes()
    the_file(tmp_path).write_bytes(DAMAGES[how](sound))
    with opened(database, tmp_path) as index:
        assert await found(index, 3) == exactly(3, range(10))
    assert the_file(tmp_path).read_bytes() == sound


@pytest.mark.parametrize("how", ["empty", "cut in the header", "cut in the middle", "cut at the end", "zeros"])
async def test_a_file_damaged_while_it_is_used_is_made_anew(database: Database, tmp_path: Path, how: str) -> None:
    with opened(database, tmp_path) as index:
        assert await found(index, 3) == exactly(3, range(10))
        the_file(tmp_path).write_bytes(DAMAGES[how](the_file(tmp_path).read_bytes()))
        assert await found(index, 3) == exactly(3, range(10))
        await remember(database, range(10, 12))
        assert await found(index, 3) == exactly(3, range(12))


async def test_a_file_that_was_removed_while_it_is_used_does_no_harm(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        await found(index, 3)
        the_file(tmp_path).unlink()
        await remember(database, range(10, 12))
        assert await found(index, 3) == exactly(3, range(12))
    with opened(database, tmp_path) as index:
        assert await found(index, 3) == exactly(3, range(12))


async def test_a_file_of_a_database_that_has_gone_another_way_is_made_anew(tmp_path: Path) -> None:
    for start in ("", "x"):  # the second time as if an older copy of the database had been put back
        database = TemporaryDatabase()
        await keep(database, ADA)
        await remember(database, range(10), start=start)
        with opened(database, tmp_path) as index:
            assert set(await found(index, 3)) == {f"{start}{an_id(each)}" for each in range(10)}


async def test_a_file_without_its_end_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    file = VectorFile(path, DIGEST)
    file.add([a_row(each) for each in range(4)])
    file.record_version(MemoryVersion(4))
    file.add([a_row(each) for each in range(4, 6)])
    file.close()
    again = VectorFile(path, DIGEST)
    assert (again.version, again.latest.second_greatest, again.latest.greatest) == (
        MemoryVersion(4),
        an_id(2),
        an_id(3),
    )
    again.add([a_row(4)])
    again.record_version(MemoryVersion(5))
    again.close()
    third = VectorFile(path, DIGEST)
    assert (third.version, third.latest.greatest) == (MemoryVersion(5), an_id(4))
    assert next(memory_id for memory_id, _ in third.nearest(some_vector(4), 9) or ()) == an_id(4)
    third.close()


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_what_was_made_earlier_and_comes_late_is_added_to_the_file(tmp_path: Path, is_restarted: bool) -> None:
    database = TemporaryDatabase()
    await keep(database, ADA)
    numbers = range(0, 2 * MAX_LATEST_IDS + 20, 2)
    await remember(database, numbers)
    index = DatabaseVectorIndex(database, tmp_path, max_in_memory=4)
    assert len(await found(index, 3, 999)) == len(numbers)
    before = the_file(tmp_path).read_bytes()
    if is_restarted:
        index.close()
        index = DatabaseVectorIndex(database, tmp_path, max_in_memory=4)
    late = numbers[-1] - 9
    await remember(database, range(late, late + 1))
    assert (await found(index, late, 999))[0] == an_id(late)
    assert the_file(tmp_path).read_bytes().startswith(before)
    await remember(database, range(late + 2, late + 3))
    await remember(database, range(numbers[-1] + 1, numbers[-1] + 2))
    assert await found(index, late + 2, 1) == [an_id(late + 2)]
    assert len(await found(index, 3, 999)) == len(numbers) + 3
    assert the_file(tmp_path).read_bytes().startswith(before)
    await remember(database, range(1, 2))  # too late: all is read again
    assert await found(index, 1, 1) == [an_id(1)]
    assert not the_file(tmp_path).read_bytes().startswith(before)
    index.close()


async def test_a_second_process_uses_a_file_of_its_own(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as one, opened(database, tmp_path) as other:
        assert await found(one, 3) == await found(other, 3) == exactly(3, range(10))
        await remember(database, range(10, 12))
        assert await found(other, 3) == await found(one, 3) == exactly(3, range(12))
        assert len(files(tmp_path)) == 1


def test_a_file_in_use_is_not_written_to_by_another(tmp_path: Path) -> None:
    one = VectorFile(tmp_path / "vectors", DIGEST)
    one.add([a_row(1), a_row(2)])
    other = VectorFile(tmp_path / "vectors", DIGEST)
    other.clear()
    other.add([a_row(3)])
    assert [each for each, _ in one.nearest(some_vector(2), 9) or ()] == [an_id(2), an_id(1)]
    assert [each for each, _ in other.nearest(some_vector(2), 9) or ()] == [an_id(3)]
    one.close()
    other.close()


async def test_each_place_has_a_file_of_its_own_until_the_space_is_dropped(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path, few=0) as index:
        await found(index, 3)
        async with database.begin() as work:
            work.memories.put(ADA, "there", {an_id(1): some_vector(1)})
            await work.commit()
        await index.nearest(MemorySpace.of(ADA), "there", some_vector(3), 9)
        assert len(files(tmp_path)) == 2
        await index.drop(MemorySpace.of(ADA))
        assert files(tmp_path) == []


async def test_dropping_a_space_deletes_its_files_only(database: Database, tmp_path: Path) -> None:
    bob = an_agent(id=AgentId("agent-bob"), name="Bob")
    await keep(database, bob)
    await remember(database, range(10), bob, "b")
    with opened(database, tmp_path) as index:
        await found(index, 3)
        of_ada = the_file(tmp_path)
        assert len(await index.nearest(MemorySpace.of(bob), HERE, some_vector(3), 99)) == 10
        await index.drop(MemorySpace.of(ADA))
        assert the_file(tmp_path) != of_ada
    with opened(database, tmp_path) as index:
        await index.drop(MemorySpace.of(bob))
    assert files(tmp_path) == []


async def test_nobody_else_may_read_the_files(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    with opened(database, folder) as index:
        await found(index, 3)
    assert (the_file(folder).stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_an_agent_that_is_gone_is_not_searched(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        await found(index, 3)
        async with database.begin() as work:
            work.agents.remove(await work.agents.locate(ADA.id))
            await work.commit()
        assert await found(index, 3) == []


async def test_a_folder_that_cannot_be_used_is_told(database: Database, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with opened(database, tmp_path / "file") as index, pytest.raises(MemoryAway, match="cannot be used"):
        await found(index, 3)
    with opened(database, tmp_path / "file", few=99) as index:
        assert await found(index, 3) == exactly(3, range(10))


async def test_only_so_many_spaces_are_held_in_memory(database: Database, tmp_path: Path) -> None:
    agents = [an_agent(id=AgentId(f"agent-{each}"), name=f"{each}") for each in range(5)]
    await keep(database, *agents)
    with opened(database, tmp_path, few=99, room=1000) as index:
        for agent in agents:
            await remember(database, range(10), agent, agent.id)
            assert len(await index.nearest(MemorySpace.of(agent), HERE, some_vector(1), 99)) == 10
        assert [spot.space.agent_id for spot in index._stores] == ["agent-2", "agent-3", "agent-4"]
        await index.nearest(MemorySpace.of(agents[2]), HERE, some_vector(1), 1)
        await index.nearest(MemorySpace.of(agents[0]), HERE, some_vector(1), 1)
        assert [spot.space.agent_id for spot in index._stores] == ["agent-4", "agent-2", "agent-0"]


async def test_whoever_asks_impatiently_lets_the_next_find_it_done(database: Database, tmp_path: Path) -> None:
    with opened(database, tmp_path) as index:
        asking = asyncio.ensure_future(found(index, 3))
        await asyncio.wait({asking}, timeout=0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await found(index, 3) == exactly(3, range(10))


async def test_vectors_of_another_length_are_left_out(database: Database, tmp_path: Path) -> None:
    async with database.begin() as work:
        odd = [Memory(id=MemoryId(f"n{each}"), text="", source="", at=NOON) for each in range(2)]
        work.memories.add(ADA, odd)
        work.memories.put(ADA, HERE, {odd[0].id: a_vector(1, 2, 3), odd[1].id: Vector(b"odd")})
        await work.commit()
    for few in (4, 99):
        with opened(database, tmp_path, few=few) as index:
            assert await found(index, 3) == exactly(3, range(10))
            assert await index.nearest(MemorySpace.of(ADA), HERE, a_vector(1, 2, 3), 9) == ()


@pytest.mark.parametrize("dimension", [3, 64, 70, 256])
def test_codes_find_those_that_are_near(dimension: int) -> None:
    codes = SignCodes()
    number = BLOCK_VECTORS + 100
    vectors = floats(b"".join(some_vector(each, dimension) for each in range(number))).reshape(number, dimension)
    for start, end in ((0, 1), (1, 50), (50, BLOCK_VECTORS), (BLOCK_VECTORS, number)):
        codes.add(vectors[start:end])
    codes.add(vectors[:0])
    for at in (0, 49, BLOCK_VECTORS - 1, BLOCK_VECTORS, number - 1):
        assert at in codes.nearest(vectors[at], number // 2)
    assert list(codes.nearest(vectors[0], number)) == list(range(number))
    codes.truncate(BLOCK_VECTORS - 1)
    codes.add(vectors[:3])
    assert list(codes.nearest(vectors[0], number)) == list(range(BLOCK_VECTORS + 2))
    assert BLOCK_VECTORS in codes.nearest(vectors[1], number // 2)


def test_numpy_is_not_imported_before_it_is_needed() -> None:
    module = "agent_core.providers.vector_index.database_vector_index"
    code = f"import sys; import {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
