"""Files that people hand to an agent."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from agent_core.capabilities.files.workspace_paths import is_name
from agent_core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.ports.database import Database, UnitOfWork
from agent_core.service.uploads import MAX_UPLOAD_BYTES, FileUploads, free_name, safe_name
from agent_core.testing.examples import ANA
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.trash import move_to_trash

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.txt"  # with a joiner that keeps its letters apart


def receive_within(stage: Stage) -> FileUploads:
    return FileUploads(database=stage.database, workspaces=stage.workspaces, waker=stage.engine, clock=stage.clock)


async def test_a_file_is_kept_and_the_agent_is_told_by_a_note() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    path = await receive_within(stage).receive(agent.id, "report.pdf", b"%PDF", stage.origin())
    assert await stage.views.file(agent.channel, agent.id, path) == b"%PDF"
    async with stage.database.begin() as work:
        (note,) = await work.notes.list_waiting(agent)
    assert (note.by, note.text) == (ANA, "I put “report.pdf” (4 bytes) into your workspace.")


@pytest.mark.proves("lease:note")
async def test_a_file_that_a_person_hands_over_pauses_a_lease() -> None:
    stage = Stage(model=ScriptedModel(*(reply_text("list_files", {"directory": each}) for each in ("", "."))))
    agent = await stage.create()
    await stage.decide(agent, Approve(5))
    await receive_within(stage).receive(agent.id, "a.txt", b"x", stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert agent.lease
    assert (agent.lease.paused_by, (await stage.turn(agent)).state) == (ANA, "proposed")


async def test_a_file_never_takes_the_place_of_another_and_the_same_delivery_is_kept_once() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, files = await stage.create(), receive_within(stage)
    kept = [await files.receive(agent.id, "a.txt", b"x", stage.origin(delivery=event)) for event in "ABA"]
    assert kept == ["a.txt", "a (2).txt", ""]
    assert [file.path for file in await stage.views.files(agent.channel, agent.id)] == ["a (2).txt", "a.txt"]


async def deleted(stage: Stage, *texts: bytes) -> Agent:
    """An agent that deleted a file once with each of these texts."""
    agent = await stage.create()
    for text in texts:
        await stage.workspaces.of(agent).write("sub/a.txt", text)
        await move_to_trash(stage.workspaces.of(agent), "sub/a.txt", expected=None)
        stage.fake_clock.advance(60)
    return agent


@pytest.mark.proves("trash:restored")
async def test_the_newest_deleted_file_is_restored_under_a_free_name_and_told_and_logged() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, uploads = await deleted(stage, b"first", b"second"), receive_within(stage)
    restored = [await uploads.restore(agent.id, "sub/a.txt", stage.origin()) for _ in range(2)]
    assert restored == ["sub/a.txt", "sub/a (2).txt"]
    assert [await stage.views.file(agent.channel, agent.id, path) for path in restored] == [b"second", b"first"]
    assert await stage.views.list_deleted_files(agent.channel, agent.id) == ()
    async with stage.database.begin() as work:
        notes = [note.text for note in await work.notes.list_waiting(agent)]
        log = [(entry.act, entry.detail, entry.by) for entry in await work.audit.in_channel(agent.channel)]
    assert notes[0] == "I put “sub/a.txt” (6 bytes) from the trash into your workspace."
    assert ("restored a file", "sub/a.txt", ANA) in log


@pytest.mark.proves("trash:restored")
async def test_who_may_not_decide_restores_nothing_and_a_name_that_is_not_there_is_told() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, uploads = await deleted(stage, b"one"), receive_within(stage)
    with pytest.raises(NotAllowed, match="restore files here"):
        await uploads.restore(agent.id, "sub/a.txt", stage.origin(by=replace(ANA, id="u-gus", kind="guest")))
    with pytest.raises(InvalidInput, match=r"has no file b\.txt"):
        await uploads.restore(agent.id, "b.txt", stage.origin())
    assert await stage.views.files(agent.channel, agent.id) == ()


@dataclass
class Interrupted:
    """A database in which something happens right before the first commit, which then conflicts with it."""

    database: Database
    meanwhile: Callable[[], Awaitable[object]] | None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        async with self.database.begin() as work:
            yield Conflicting(work, self)  # type: ignore[misc]


class Conflicting:
    def __init__(self, work: UnitOfWork, owner: Interrupted) -> None:
        self.work, self.owner = work, owner

    def __getattr__(self, name: str) -> object:
        return getattr(self.work, name)

    async def commit(self) -> None:
        meanwhile, self.owner.meanwhile = self.owner.meanwhile, None
        if meanwhile:
            await meanwhile()
            raise Conflict
        await self.work.commit()


async def test_a_repeated_save_does_not_write_the_file_again() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    own = stage.workspaces.of(agent)
    database = Interrupted(stage.database, lambda: own.write("a.txt", b"changed by the agent"))
    files = replace(receive_within(stage), database=database)
    assert await files.receive(agent.id, "a.txt", b"x", stage.origin(delivery="A")) == "a.txt"
    assert await own.read("a.txt") == b"changed by the agent"
    async with stage.database.begin() as work:
        assert len(await work.notes.list_waiting(agent)) == 1


async def test_a_delivery_that_another_process_took_meanwhile_leaves_one_file() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, origin = await stage.create(), stage.origin(delivery="A")
    other = receive_within(stage)
    files = replace(other, database=Interrupted(stage.database, lambda: other.receive(agent.id, "a.txt", b"x", origin)))
    files = replace(files, locks=type(files.locks)())
    assert await files.receive(agent.id, "a.txt", b"x", origin) == ""
    assert [file.path for file in await stage.views.files(agent.channel, agent.id)] == ["a (2).txt"]


async def test_a_file_for_an_agent_that_was_deleted_meanwhile_is_removed() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent = await stage.create()
    own = stage.workspaces.of(agent)

    async def delete_before_the_write() -> None:
        await stage.service.lifecycle.delete(agent.id, stage.origin())
        await own.write("a.txt", b"x")

    database = Interrupted(stage.database, delete_before_the_write)
    with pytest.raises(NotFound):
        await replace(receive_within(stage), database=database).receive(agent.id, "a.txt", b"x", stage.origin())
    assert await own.list_files() == ()


async def test_files_over_the_limit_and_of_guests_are_refused() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    agent, files = await stage.create(), receive_within(stage)
    with pytest.raises(InvalidInput, match="larger than 20 MB"):
        await files.receive(agent.id, "a.bin", b"\0" * (MAX_UPLOAD_BYTES + 1), stage.origin())
    with pytest.raises(NotAllowed, match="add files here"):
        await files.receive(agent.id, "a.bin", b"", stage.origin(replace(ANA, kind="guest")))
    assert await stage.views.files(agent.channel, agent.id) == ()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a\nb.txt", "a_b.txt"),
        ("", "file"),
        ("...", "file"),
        ("تقرير.pdf", "تقرير.pdf"),
        ("n" * 300 + ".txt", "n" * 96 + ".txt"),
        ("Re\u0301sume\u0301.txt", "Résumé.txt"),
        ("Screenshot at 3.45\u202fPM.png", "Screenshot at 3.45 PM.png"),
        ("v\u00a01.txt", "v 1.txt"),
        ("Ana\u2019s list.txt", "Ana's list.txt"),
        ("note\u202ename\u200e.txt", "notename.txt"),
        ("a\u2028b.txt", "a b.txt"),
        (PERSIAN, PERSIAN),
    ],
)
def test_a_name_is_made_fit_for_a_file_system_as_people_see_and_type_it(given: str, kept: str) -> None:
    assert safe_name(given) == kept


@pytest.mark.parametrize(
    ("given", "taken", "kept"),
    [
        ("A.txt", ["a.txt", "a (2).txt"], "A (3).txt"),
        ("Résumé.txt", ["Re\u0301sume\u0301.txt"], "Résumé (2).txt"),
        ("it's.txt", ["it\u2019s.txt"], "it's (2).txt"),
    ],
)
def test_a_name_that_is_taken_or_looks_the_same_gets_a_number(given: str, taken: list[str], kept: str) -> None:
    assert free_name(given, taken) == kept


@pytest.mark.parametrize("letter", ["a", "\u5e74", "\U0001f4ce", "e\u0301"])
def test_a_long_name_is_shortened_to_what_a_disk_takes_with_its_ending(letter: str) -> None:
    kept = safe_name(letter * 200 + ".txt")
    assert kept.endswith(".txt")
    assert len(free_name(kept, [kept]).encode()) <= 255
    assert is_name(kept)
