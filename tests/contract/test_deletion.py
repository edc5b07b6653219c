"""What is left of a deleted agent: nothing, even after a crash, and what the decision log keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from adapters.screens.ui_text import deleted_text
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.workspace_lock import LOCKS_FOLDER
from agent_core.capabilities.files.workspace_paths import VERSIONS_FOLDER
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.errors import CommandError, Conflict, DatabaseAway
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Approve, ApproveEdited, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.note import Notice
from agent_core.model.records.memory import MemorySpace
from agent_core.persistence import schema
from agent_core.persistence.connections import make_engine
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.decision_log.checking import check_log
from agent_core.persistence.tables import metadata
from agent_core.ports.database import Database
from agent_core.ports.files import WorkspaceOwner
from agent_core.service.housekeeping.erasing import GRACE
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, CHANNEL, NOON
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.stage import Stage
from tests.standins.postgres import PostgresServer
from tests.tables import on_database

MARK = "xyzzy-marker"
LONG = f"{MARK} {'word ' * 400}"
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": LONG}, text=LONG)
STEPS = [
    reply_text(name, {"filename": f"{number}.txt", "text": f"{LONG} {number}"}, text=f"{LONG} {number}")
    for number in range(6)
    for name in ("write_to_file", "memory_add")
]
DONE = reply_text("task_complete", {"reason": LONG})


class House:
    """A Stage on a real database, and a folder of workspaces, both below one folder."""

    def __init__(self, url: str, home: Path, *replies: str) -> None:
        self.url, self.home, self.database = url, home, SqlDatabase(url)
        self.stage = Stage(
            database=self.database,
            model=ScriptedModel(*replies),
            workspaces=FolderWorkspaces(home / "workspaces"),
            index=DatabaseVectorIndex(self.database),
        )

    async def work(self) -> Agent:
        """An agent with the marker in turns, notes, notices, memories, vectors and files."""
        agent = await self.stage.create("Write it", policy=Policy(free=RISK_CLASSES))
        for number in range(4):
            await self.stage.service.decisions.reply(agent.id, f"{LONG} {number}", self.stage.origin())
        async with self.database.begin() as work:
            work.notes.announce(Notice.to(agent, "changed", LONG, NOON))
            await work.commit()
        await self.stage.eraser.empty_journal()  # brings the rows from the journal into the file of the database
        await self.stage.reindexer.index_all()
        await self.stage.memories.search(agent.id, "word", self.stage.origin())
        await self.stage.service.decisions.reply(agent.id, LONG, self.stage.origin())
        return agent

    async def close(self) -> None:
        await self.database.close()

    def files_with(self, mark: str) -> list[str]:
        """The files below the home that have the marker, and all that are in workspaces, but for locks."""
        files = [path for path in self.home.rglob("*") if path.is_file() and path.parent.name != LOCKS_FOLDER]
        kept = [path for path in files if mark.encode() in path.read_bytes() or "signoff.db" not in path.name]
        return sorted(str(path.relative_to(self.home)) for path in kept)


@asynccontextmanager
async def house(url: str, home: Path, *replies: str) -> AsyncIterator[House]:
    built = House(url, home, *replies)
    try:
        yield built
    finally:
        await built.close()


async def rows_with(url: str, mark: str) -> list[str]:
    """The tables that have the marker in any column."""

    def read(connection: Connection) -> list[str]:
        found = []
        for table in metadata.sorted_tables:
            rows = connection.execute(text(f"SELECT * FROM {table.name}")).all()
            found += [table.name] if any(mark in str(tuple(row)) for row in rows) else []
        return found

    return await on_database(url, read)


@pytest.mark.slow
@pytest.mark.proves("delete:everything")
async def test_nothing_of_a_deleted_agent_is_left_in_any_file(sqlite_url: str, tmp_path: Path) -> None:
    async with house(sqlite_url, tmp_path, *STEPS, DONE) as here:
        agent = await here.work()
        before = {name.partition("/")[0] for name in here.files_with(MARK)}
        assert before == {"signoff.db", "signoff.db-wal", "workspaces"}
        await here.stage.service.lifecycle.delete(agent.id, here.stage.origin())
        assert here.files_with(MARK) == []
        assert await rows_with(sqlite_url, MARK) == []
        left = {path.name for path in (tmp_path / "workspaces").rglob("*") if path.is_dir()}
        assert left == {LOCKS_FOLDER, VERSIONS_FOLDER}


@pytest.mark.slow
@pytest.mark.proves("delete:everything")
async def test_no_row_of_a_deleted_agent_is_left_on_a_server(
    own_postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    url = own_postgres.url
    await schema.upgrade(url)
    async with house(url, tmp_path, *STEPS, DONE) as here:
        agent = await here.work()
        assert {"turns", "notes", "notices", "memories"} <= set(await rows_with(url, MARK))
        await here.stage.service.lifecycle.delete(agent.id, here.stage.origin())
        assert (await rows_with(url, MARK), here.files_with(MARK)) == ([], [])
        assert set(await rows_with(url, agent.id)) == {"audit", "deletions"}


@pytest.mark.proves("delete:said")
async def test_a_deletion_says_how_much_was_deleted_and_what_the_log_keeps(url: str, database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE, WRITE))
    agent = await stage.create("Keep secrets")
    await stage.decide(agent, ApproveEdited({"filename": "a.txt", "text": "edited words"}))
    agent = await stage.wait_until_settled(agent)
    await stage.helpers.start(agent, "Scout", "Look", "Begin.")
    await stage.memories.add(agent.id, "Ducks quack.", stage.origin())
    deleted = await stage.service.lifecycle.delete(agent.id, stage.origin())
    said = deleted_text(deleted, ANA)
    assert said.startswith("Clerk was deleted by @ana, with its history, memory and files: 2 turns, 1 note, ")
    assert "1 file (12 bytes). The decision log keeps " in said
    async with database.begin() as work:
        entries = [each for each in await work.audit.in_channel(CHANNEL) if each.agent_id]
    assert len(entries) == deleted.log_entries
    kept = " ".join(f"{entry.detail} {entry.target} {entry.given}" for entry in entries)
    assert [each for each in ("Keep secrets", "edited words", "Ducks quack.", "a.txt", MARK) if each in kept] == []
    assert all(entry.is_blanked or entry.act == "deleted" for entry in entries)
    assert [each.faults for each in await check_log(url, {})] == [[]]  # also of the helper


async def test_the_decision_log_counts_the_turns_of_a_deleted_agent(memory: Database) -> None:
    stage = Stage(database=memory, model=ScriptedModel(WRITE))
    agent = await stage.create("Keep secrets")
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    async with memory.begin() as work:
        (entry,) = [each for each in await work.audit.in_channel(CHANNEL) if each.act == "deleted"]
    assert entry.detail.startswith("1 turn, ")


async def test_the_form_for_the_next_agent_forgets_a_deleted_one(memory: Database) -> None:
    stage = Stage(database=memory, model=ScriptedModel(WRITE))
    agent = await stage.create(MARK)
    assert await stage.service.lifecycle.load_agent_defaults(stage.origin()) is not None
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    assert await stage.service.lifecycle.load_agent_defaults(stage.origin()) is None


class Dying(InMemoryWorkspaces):
    """Workspaces of a process that dies, or that cannot remove anything, while `fault` is set."""

    fault: BaseException | None = None

    async def remove(self, agent: WorkspaceOwner) -> None:
        if self.fault:
            raise self.fault
        await super().remove(agent)


def survivor(stage: Stage, clock: FakeClock | None = None) -> Stage:
    """Another process on the same database, files and index."""
    return Stage(
        database=stage.database,
        workspaces=stage.workspaces,
        index=stage.memory.index,
        clock=clock or stage.fake_clock,
    )


@pytest.mark.slow
@pytest.mark.proves("delete:later")
async def test_files_of_an_agent_whose_deletion_was_killed_are_removed_by_the_next_process(memory: Database) -> None:
    files = Dying()
    stage = Stage(database=memory, model=ScriptedModel(WRITE, WRITE), workspaces=files)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    files.fault = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await stage.service.lifecycle.delete(agent.id, stage.origin())
    assert files.by_agent[agent.id].contents
    files.fault = None
    assert await survivor(stage).eraser.erase_all() == 0
    assert agent.id not in files.by_agent


@pytest.mark.proves("delete:later")
async def test_files_that_cannot_be_removed_now_are_said_to_be_left_and_removed_later(memory: Database) -> None:
    files = Dying()
    stage = Stage(database=memory, model=ScriptedModel(WRITE), workspaces=files)
    agent = await stage.create()
    await files.of(agent).write("a.txt", b"one")
    files.fault = CommandError("The workspace could not be used: Permission denied.")
    deleted = await stage.service.lifecycle.delete(agent.id, stage.origin())
    assert "Some of its files could not be removed yet; they are removed later." in deleted_text(deleted, ANA)
    files.fault = None
    assert await stage.eraser.erase_all() == 0
    assert agent.id not in files.by_agent


@pytest.mark.proves("delete:later")
async def test_files_of_vectors_that_cannot_be_removed_now_are_removed_later(memory: Database) -> None:
    index = Stubborn()
    stage = Stage(database=memory, model=ScriptedModel(WRITE), index=index)
    agent = await stage.create()
    assert (await stage.service.lifecycle.delete(agent.id, stage.origin())).left == ("index",)
    index.is_stuck = False
    assert await stage.eraser.erase_all() == 0
    assert stage.eraser.erased == {agent.id}


class Stubborn(InMemoryIndex):
    """An index whose files cannot be removed at first."""

    is_stuck = True

    async def drop(self, space: MemorySpace) -> None:
        if self.is_stuck:
            raise PermissionError("Permission denied")
        await super().drop(space)


@pytest.mark.proves("delete:later")
async def test_what_a_step_saves_after_the_deletion_is_removed_ten_minutes_later(database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE))
    agent = await stage.create()
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    await stage.workspaces.of(agent).write("late.txt", b"late")
    await stage.eraser.erase_all()
    assert await left(database) == [agent.id]
    stage.fake_clock.advance(GRACE.total_seconds())
    await stage.eraser.erase_all()
    assert await left(database) == []
    assert isinstance(stage.workspaces, InMemoryWorkspaces)
    assert agent.id not in stage.workspaces.by_agent


async def left(database: Database) -> list[str]:
    async with database.begin() as work:
        return [each.agent_id for each in await work.deletions.page(most=9)]


@pytest.mark.proves("delete:later")
async def test_entries_in_an_index_that_is_not_used_now_wait_for_it(memory: Database) -> None:
    stage = Stage(database=memory, model=ScriptedModel(WRITE))
    agent = await stage.create()
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    stage.fake_clock.advance(3600)
    other = Stage(database=memory, index=Renamed(), clock=stage.fake_clock)
    assert await other.eraser.erase_all() == 1
    assert await left(memory) == [agent.id]
    assert await survivor(stage).eraser.erase_all() == 0
    assert await left(memory) == []


class Renamed(InMemoryIndex):
    name = "another index"


async def test_processes_that_erase_at_once_do_no_harm(database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(*[WRITE] * 3))
    for name in ("One", "Two", "Three"):
        agent = await stage.service.lifecycle.create(AgentDraft(name=name, goals=("Write",)), stage.origin())
        await stage.service.lifecycle.delete(agent.id, stage.origin())
    stage.fake_clock.advance(3600)
    workers = [survivor(stage) for _ in range(3)]
    assert await asyncio.gather(*(worker.eraser.erase_all() for worker in workers)) == [0, 0, 0]
    assert await left(database) == []


async def test_the_background_job_erases_and_waits_for_its_database(memory: Database) -> None:
    stage = Stage(database=memory, model=ScriptedModel(WRITE))
    agent = await stage.create()
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    stage.fake_clock.advance(3600)
    away = Absent(memory)
    worker = Stage(database=away, workspaces=stage.workspaces, index=stage.memory.index, clock=stage.fake_clock)
    job = asyncio.create_task(worker.eraser.run())
    await stage.fake_clock.until_sleeping()
    assert await left(memory) == [agent.id]
    away.is_away = False
    stage.fake_clock.advance(60)
    await stage.fake_clock.until_sleeping()
    assert await left(memory) == []
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


class Absent:
    """A database that is away at first."""

    def __init__(self, database: Database) -> None:
        self.database, self.is_away = database, True

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Any]:
        if self.is_away:
            raise DatabaseAway("The database cannot be reached.")
        async with self.database.begin() as work:
            yield work


async def test_a_long_read_delays_the_end_of_a_deletion_and_holds_up_nobody(sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    stage = Stage(database=database, model=ScriptedModel(WRITE))
    agent = await stage.create()
    engine = make_engine(sqlite_url)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT count(*) FROM agents").all()
        await stage.service.lifecycle.delete(agent.id, stage.origin())
        stage.fake_clock.advance(3600)
        await stage.eraser.erase_all()
        assert await left(database) == [agent.id]
    engine.dispose()
    await stage.eraser.erase_all()
    assert await left(database) == []
    await database.close()


async def test_a_deletion_does_not_overwrite_what_was_saved_since_it_was_read(database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE))
    agent = await stage.create()
    async with database.begin() as work:
        read = await work.agents.get(CHANNEL, agent.id)
        await stage.service.lifecycle.stop(agent.id, stage.origin())
        work.agents.remove(read)
        with pytest.raises(Conflict):
            await work.commit()
    assert (await stage.views.agent(CHANNEL, agent.id)).status.kind == "stopped"
