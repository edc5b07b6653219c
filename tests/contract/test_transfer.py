"""An export has everything of a database and its workspaces, and an import brings everything back, on any database."""

import asyncio
import secrets
import tracemalloc
import zipfile
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent_core.errors import TransferRefused
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget
from agent_core.model.origin import Installation
from agent_core.model.records.memory import Memory, MemoryVersion, Vector
from agent_core.persistence import row_transfer, schema
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.locks import engine_lock
from agent_core.persistence.row_transfer import NAMES, read_rows
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import CHANNEL, NOON, a_note, a_turn, an_agent, keep
from tests.contract.transfers import (
    LONG,
    Rows,
    empty,
    every_table,
    files_in,
    fill,
    in_thread,
    revision,
    rows_in,
    transfer,
    write_files,
)

FILES = {
    "agent-ada/poem.txt": b"Roses are red",
    "agent-ada/b/c/\u00e9\U0001f986.bin": bytes(range(256)) * 9_000,
    "agent-ada/run.sh": b"#!/bin/sh\n",
    "agent-ada/.git/refs/tags/": b"",
    "agent-ada/README": b"one",
    "agent-ada/readme": b"other",
    "agent-bob/empty": b"",
}
INSTALLATION = Installation(surface="slack", workspace="T1", name="Acme", sealed="\\ sealed", installed_at=NOON)
DIRECTIONS = ["sqlite-sqlite", "sqlite-postgres", "postgres-sqlite"]


@pytest.fixture
def sqlite_urls(tmp_path: Path) -> Iterator[str]:
    """Addresses of SQLite files that do not exist."""
    return (f"sqlite:///{tmp_path}/{number}/signoff.db" for number in count())


@pytest.fixture(params=DIRECTIONS)
def direction(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The addresses of two databases: from where, to where; "" for SQLite."""
    source, target = (
        str(request.getfixturevalue("postgres")) if name == "postgres" else "" for name in request.param.split("-")
    )
    return source, target


@pytest.fixture
async def pair(direction: tuple[str, str], sqlite_urls: Iterator[str]) -> tuple[str, str]:
    """A database with empty tables, and one that is empty or has no tables."""
    source, target = (url or next(sqlite_urls) for url in direction)
    for url in (source, target):
        if url.startswith("postgres"):
            await empty(url)
    await schema.upgrade(source)
    return source, target


@pytest.mark.slow
@pytest.mark.proves("transfer:everything")
@settings(max_examples=5, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_rows_of_every_kind_come_back(
    direction: tuple[str, str], monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(row_transfer, "BATCH_ROWS", 2)
    rows = data.draw(every_table())
    with TemporaryDirectory() as folder:
        asyncio.run(_move(direction, Path(folder), rows))


async def _move(direction: tuple[str, str], folder: Path, rows: Rows) -> None:
    source, target = (
        url or f"sqlite:///{folder}/{name}.db" for url, name in zip(direction, ("from", "to"), strict=True)
    )
    for url in {source, target}:
        await (empty if url.startswith("postgres") else schema.upgrade)(url)
    await fill(source, rows)
    await transfer(source, folder).export_to(folder / "first.zip")
    await transfer(target, folder).import_from(folder / "first.zip")
    await transfer(target, folder).export_to(folder / "second.zip")
    assert await rows_in(target) == await rows_in(source)
    assert (folder / "second.zip").read_bytes() == (folder / "first.zip").read_bytes()


@pytest.mark.slow
@pytest.mark.proves("transfer:everything")
async def test_an_agent_is_the_same_in_every_way_after_a_move(pair: tuple[str, str], tmp_path: Path) -> None:
    source, target = pair
    ada, bob = an_agent(), an_agent(id=AgentId("agent-bob"), name="Bob \x00 \ud800 🦆")
    memory = Memory.of("Ducks quack.", source="turn 1", at=NOON, turn=1)
    await _keep_all(source, ada, bob, memory)
    write_files(tmp_path / "from", FILES)
    done = await transfer(source, tmp_path / "from").export_to(tmp_path / "x.zip")
    assert (done.agents, done.files, done.left_out) == (2, 6, ())
    assert await transfer(target, tmp_path / "to").import_from(tmp_path / "x.zip") == done
    assert files_in(tmp_path / "to") == files_in(tmp_path / "from")
    database = SqlDatabase(target)
    async with database.begin() as work:
        assert await work.agents.of(CHANNEL) == (ada, bob)
        assert await work.turns.of(ada, last=9) == (a_turn(ada),)
        assert await work.notes.of(ada) == (a_note(ada),)
        assert await work.text_search.turns([CHANNEL], ["poem"], most=9) == (a_turn(ada),)
        assert await work.memories.vectors(ada, "here", most=9) == ((memory.id, Vector(b"1\x00\xff4")),)
        assert await work.memories.version(ada) == MemoryVersion(added=1)
        assert await work.preferences.get(CHANNEL, LONG[:20]) == LONG
        assert await work.installations.get("slack", "T1") == INSTALLATION
        assert await work.budgets.of(CHANNEL) == Budget(limit=Decimal("2.50"))
        assert not await work.deliveries.first_time("click-1", NOON)
        work.agents.save(replace(await work.agents.locate(bob.id), fence=1))
        await work.commit()
    await database.close()


async def _keep_all(url: str, *values: object) -> None:
    ada, bob, memory = values
    database = SqlDatabase(url)
    await keep(database, ada, bob, a_turn(ada), a_note(ada))  # type: ignore[arg-type]
    async with database.begin() as work:
        await work.deliveries.first_time("click-1", NOON)
        work.preferences.put(CHANNEL, LONG[:20], LONG)
        work.installations.put(INSTALLATION)
        work.budgets.set_limit(CHANNEL, Decimal("2.50"))
        work.memories.add(ada, [memory])  # type: ignore[arg-type, list-item]
        work.memories.put(ada, "here", {memory.id: Vector(b"1\x00\xff4")})  # type: ignore[arg-type, attr-defined]
        await work.commit()
    await database.close()


@pytest.mark.slow
@pytest.mark.proves("transfer:snapshot")
async def test_an_export_beside_a_running_engine_is_of_one_moment(pair: tuple[str, str]) -> None:
    url, _ = pair
    ada, found = an_agent(), dict[str, list[bytes]]()
    await _save(url, ada, a_turn(ada))
    lock = engine_lock(url, FakeClock())
    await lock.acquire()

    def take(name: str, lines: Iterator[bytes]) -> None:
        found[name] = list(lines)
        in_thread(lambda: _save(url, a_note(ada, id=f"note-{name}"), a_turn(ada, number=len(found) + 1)))

    await read_rows(url, take)
    await lock.release()
    assert {name: len(lines) for name, lines in found.items() if lines} == {"agents": 1, "turns": 1}
    assert len((await rows_in(url))["notes"]) == len(NAMES)


async def _save(url: str, *values: object) -> None:
    database = SqlDatabase(url)
    await keep(database, *values)  # type: ignore[arg-type]
    await database.close()


@pytest.mark.slow
@pytest.mark.proves("transfer:memory")
async def test_memory_stays_flat_however_many_rows_there_are(pair: tuple[str, str], tmp_path: Path) -> None:
    source, target = pair
    ada = an_agent()
    await _save(source, ada)
    note = {"channel": CHANNEL.key, "agent_id": ada.id, "at": NOON, "taken_into": None, "data": "x" * 10_000}
    for start in range(0, 2_000, 500):
        await fill(source, {"notes": [{**note, "id": f"{number:05}"} for number in range(start, start + 500)]})
    assert await _peak(transfer(source, tmp_path).export_to(tmp_path / "x.zip")) < 9_000_000
    assert await _peak(transfer(target, tmp_path).import_from(tmp_path / "x.zip")) < 9_000_000
    assert len((await rows_in(target))["notes"]) == 2_000


async def _peak(work: Awaitable[object]) -> int:
    """The most bytes of Python's objects that were in memory at once for this work; all rows take 20 million."""
    tracemalloc.start()
    await work
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.slow
async def test_progress_is_told_of_everything_that_takes_time(pair: tuple[str, str], tmp_path: Path) -> None:
    source, target = pair
    ada, told = an_agent(), list[str]()
    await _save(source, ada, *(a_turn(ada, number=number) for number in range(1, 5)))
    write_files(tmp_path / "from", FILES)
    clock = TickingClock()
    await replace(transfer(source, tmp_path / "from", told), clock=clock).export_to(tmp_path / "x.zip")
    await replace(transfer(target, tmp_path / "to", told), clock=clock).import_from(tmp_path / "x.zip")
    assert {line.lstrip("0123456789,") for line in told} == {
        " rows exported",
        " files and folders exported",
        f" of {_size(tmp_path / 'x.zip'):,} bytes checked",
        " of 6 files imported",
        " of 5 rows imported",
    }


@pytest.mark.slow
async def test_an_export_and_an_import_can_be_cancelled(pair: tuple[str, str], exported: Path) -> None:
    source, target = pair
    home, loop, running = exported.parent, asyncio.get_running_loop(), list[asyncio.Task[object]]()

    def cancel(_: str) -> None:
        loop.call_soon_threadsafe(running[-1].cancel)

    leaving, arriving = (
        replace(transfer(url, home / name), tell=cancel, clock=TickingClock())
        for url, name in ((source, "from"), (target, "to"))
    )
    for begin in (partial(leaving.export_to, home / "y.zip"), partial(arriving.import_from, exported)):
        running.append(asyncio.create_task(begin()))
        with pytest.raises(asyncio.CancelledError):
            await running[-1]
    assert [path.name for path in files_beside(exported)] == ["x.zip"]
    await transfer(target, exported.parent / "to").import_from(exported)
    assert await rows_in(target) == await rows_in(source)
    assert files_in(exported.parent / "to") == files_in(exported.parent / "from")


@pytest.mark.slow
@pytest.mark.parametrize("is_large", ["a row", "a file"])
async def test_an_export_that_the_disk_cannot_hold_is_told_and_leaves_nothing(
    pair: tuple[str, str], exported: Path, is_large: str
) -> None:
    large = secrets.token_hex(2_000_000)
    if is_large == "a row":
        await _save(pair[0], a_note(an_agent(), text=large))
    else:
        write_files(exported.parent / "from", {"agent-ada/large": large.encode()})
    before = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        to = transfer(pair[0], exported.parent / "from")
        said = await _refusal(to.export_to(exported.with_name("y.zip")))
    finally:
        setrlimit(RLIMIT_FSIZE, before)
    assert said == f"{exported.with_name('y.zip')} cannot be written: File too large."
    assert [path.name for path in files_beside(exported)] == ["x.zip"]


def _size(file: Path) -> int:
    """Bytes of all members but the manifest."""
    with zipfile.ZipFile(file) as opened:
        return sum(each.file_size for each in opened.infolist() if each.filename != "manifest.json")


class TickingClock(FakeClock):
    """A clock that moves a second each time that it is read."""

    def now(self) -> datetime:
        self.advance(1)
        return super().now()


async def _refusal(work: Awaitable[object]) -> str:
    with pytest.raises(TransferRefused) as refused:
        await work
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
async def exported(pair: tuple[str, str], tmp_path: Path) -> Path:
    """An export of an agent with a file."""
    ada = an_agent()
    await _save(pair[0], ada, a_turn(ada))
    write_files(tmp_path / "from", FILES)
    await transfer(pair[0], tmp_path / "from").export_to(tmp_path / "x.zip")
    return tmp_path / "x.zip"


@pytest.mark.slow
async def test_an_export_belongs_to_its_account_alone_and_replaces_no_file(
    pair: tuple[str, str], exported: Path
) -> None:
    before = _facts(exported)
    assert before[0] == 0o600
    assert "exists already" in await _refusal(transfer(pair[0], exported.parent).export_to(exported))
    assert _facts(exported) == before
    missing = exported.parent / "not" / "there.zip"
    assert "cannot be written" in await _refusal(transfer(pair[0], exported.parent).export_to(missing))


def files_beside(file: Path) -> list[Path]:
    return [path for path in file.parent.iterdir() if path.name.endswith((".zip", ".unfinished"))]


def _facts(file: Path) -> tuple[int, bytes, list[str]]:
    return file.stat().st_mode & 0o777, file.read_bytes(), [path.name for path in file.parent.glob("*unfinished*")]


@pytest.mark.slow
async def test_a_database_that_is_not_empty_is_refused(pair: tuple[str, str], exported: Path) -> None:
    target, home = pair[1], exported.parent / "to"
    await schema.upgrade(target)
    await _save(target, an_agent(id=AgentId("agent-eva"), name="Eva"))
    before = await rows_in(target)
    said = await _refusal(transfer(target, home).import_from(exported))
    assert "The database is not empty" in said
    assert (await rows_in(target), files_in(home)) == (before, {})


@pytest.mark.slow
async def test_a_running_engine_is_refused(pair: tuple[str, str], exported: Path) -> None:
    await schema.upgrade(pair[1])
    lock = engine_lock(pair[1], FakeClock())
    await lock.acquire()
    said = await _refusal(transfer(pair[1], exported.parent / "to").import_from(exported))
    assert said == "A Signoff is at work on this database: stop it first."
    await lock.release()
    assert files_in(exported.parent / "to") == {}


@pytest.mark.slow
@pytest.mark.parametrize(("found", "said"), [("9999", "are of a newer release"), ("0003", "run `migrate` first")])
async def test_tables_of_another_release_are_refused(
    pair: tuple[str, str], exported: Path, found: str, said: str
) -> None:
    source, target = pair
    await schema.upgrade(target)
    for url in pair:
        await revision(url, found)
    assert said in await _refusal(transfer(target, exported.parent / "to").import_from(exported))
    assert said in await _refusal(transfer(source, exported.parent).export_to(exported.with_name("y.zip")))
    assert sorted(path.name for path in files_beside(exported)) == ["x.zip"]
    for url in pair:
        await revision(url, schema.HEAD)


@pytest.mark.slow
async def test_an_interrupted_import_leaves_no_row_and_can_be_repeated(
    pair: tuple[str, str], exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    to = transfer(target, exported.parent / "to")

    def fail(_connection: object) -> None:
        raise KeyError

    with monkeypatch.context() as patched:
        patched.setattr(row_transfer, "put_all_texts", fail)
        with pytest.raises(KeyError):
            await to.import_from(exported)
    assert not any((await rows_in(target)).values())
    await to.import_from(exported)
    assert await rows_in(target) == await rows_in(source)
    assert files_in(exported.parent / "to") == files_in(exported.parent / "from")


@pytest.mark.slow
async def test_a_file_that_is_there_with_other_content_is_not_overwritten(
    pair: tuple[str, str], exported: Path
) -> None:
    home = exported.parent / "to"
    write_files(home, {**FILES, "agent-ada/poem.txt": b"Violets"})
    before = files_in(home)
    assert "poem.txt is there already with other content" in await _refusal(
        transfer(pair[1], home).import_from(exported)
    )
    assert files_in(home) == before
    write_files(home, FILES)
    await transfer(pair[1], home).import_from(exported)  # the same files may be there
