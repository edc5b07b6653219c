"""What every workspace keeps to: on disk, on S3-compatible storage and in memory."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.s3_storage import S3Storage
from agent_core.capabilities.files.s3_workspace import S3Workspaces
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.errors import CommandError, OutsideWorkspace
from agent_core.model.files import content_fingerprint
from agent_core.model.ids import AgentId
from agent_core.ports.files import Files, Workspaces
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.toolset.trash import list_trash, move_to_trash

SMALL = Limits(file_bytes=100, workspace_bytes=250, files=3)
ADA = an_agent(id=AgentId("0ada"))
BOB = replace(ADA, id=AgentId("0bob"), name="Bob")
WRITERS = 8
Make: TypeAlias = Callable[[Limits], Workspaces]


@pytest.fixture(params=["folder", "memory", "s3"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "s3":
        storage = S3Storage(bucket=request.getfixturevalue("s3_bucket"))
        return lambda limits: S3Workspaces(storage, limits)
    if request.param == "folder":
        return lambda limits: FolderWorkspaces(tmp_path / "home" / "workspaces", limits)
    return InMemoryWorkspaces


@pytest.fixture
def workspaces(make: Make) -> Workspaces:
    return make(Limits())


@pytest.fixture
def files(workspaces: Workspaces) -> Files:
    return workspaces.of(ADA)


async def names(files: Files, folder: str = "") -> list[str]:
    return [entry.path for entry in await files.list_files(folder)]


@pytest.mark.slow
@pytest.mark.parametrize("append", [False, True])
async def test_a_file_is_changed_only_where_it_is_the_expected_one(files: Files, append: bool) -> None:
    await files.write("a.txt", b"one", append=append, expected="")
    first = await files.fingerprint("a.txt")
    await files.write("a.txt", b" two", append=append, expected=first)
    second = await files.read("a.txt")
    for other in ("", first):
        with pytest.raises(CommandError, match="changed after this was approved"):
            await files.write("a.txt", b" three", append=append, expected=other)
        with pytest.raises(CommandError, match="changed after this was approved"):
            await files.delete("a.txt", expected=other)
    assert (await files.read("a.txt"), await names(files)) == (second, ["a.txt"])
    await files.delete("a.txt", expected=await files.fingerprint("a.txt"))
    assert await names(files) == []


@pytest.mark.slow
@pytest.mark.proves("files:one-writer")
async def test_of_many_writers_that_expect_the_same_file_one_wins(files: Files) -> None:
    for expected in ("", content_fingerprint(b"first")):
        results = await asyncio.gather(
            *(files.write("a.txt", b"by %d" % number, expected=expected) for number in range(WRITERS)),
            return_exceptions=True,
        )
        [winner] = [number for number, result in enumerate(results) if result is None]
        assert await files.read("a.txt") == b"by %d" % winner
        faults = [str(result) for result in results if result]
        assert all("changed after this was approved" in fault for fault in faults), faults
        await files.write("a.txt", b"first")


@pytest.mark.slow
@pytest.mark.proves("files:one-writer")
async def test_what_many_append_at_once_is_all_there(files: Files) -> None:
    lines = [f"line {number}\n".encode() for number in range(WRITERS)]
    await asyncio.gather(*(files.write("deep/log.txt", line, append=True) for line in lines))
    assert sorted((await files.read("deep/log.txt")).splitlines(keepends=True)) == sorted(lines)


@pytest.mark.slow
@pytest.mark.proves("files:one-writer")
async def test_a_file_is_written_or_deleted_never_both(files: Files) -> None:
    await files.write("a.txt", b"first")
    expected = await files.fingerprint("a.txt")
    deleted, written = await asyncio.gather(
        files.delete("a.txt", expected=expected),
        files.write("a.txt", b"second", expected=expected),
        return_exceptions=True,
    )
    assert (deleted is None) != (written is None), (deleted, written)
    assert await names(files) == ([] if deleted is None else ["a.txt"])


async def test_appending_extends_or_makes_a_file(files: Files) -> None:
    await files.write("log.txt", b"one", append=True)
    await files.write("log.txt", b" two", append=True)
    assert await files.read("log.txt") == b"one two"


async def test_a_deleted_file_is_gone(files: Files) -> None:
    await files.write("a.txt", b"a")
    await files.delete("a.txt")
    with pytest.raises(CommandError, match=r"^There is no file a.txt\.$"):
        await files.read("a.txt")
    with pytest.raises(CommandError, match=r"^There is no file a.txt\.$"):
        await files.delete("a.txt")


async def test_files_are_listed_by_path_with_their_sizes(files: Files) -> None:
    for path in ("b.txt", "a/z.txt", "a-b.txt", "a/b/c.txt", "Ä.txt"):
        await files.write(path, path.encode())
    listed = await files.list_files()
    assert [entry.path for entry in listed] == ["a-b.txt", "a/b/c.txt", "a/z.txt", "b.txt", "Ä.txt"]
    assert [entry.size for entry in listed] == [7, 9, 7, 5, 6]
    assert all(entry.changed_at.tzinfo is UTC for entry in listed)


async def test_a_folder_is_listed_with_what_is_below(files: Files) -> None:
    for path in ("a/b/c.txt", "a/d.txt", "ab/e.txt"):
        await files.write(path, b"")
    assert await names(files, "a/") == ["a/b/c.txt", "a/d.txt"]
    assert await names(files, "./a/./b") == ["a/b/c.txt"]
    assert await names(files, ".") == ["a/b/c.txt", "a/d.txt", "ab/e.txt"]


async def test_nothing_is_listed_before_the_first_write(files: Files) -> None:
    assert await files.list_files() == ()


async def test_a_folder_that_is_not_there_is_told(files: Files) -> None:
    with pytest.raises(CommandError, match=r"^There is no folder gone\.$"):
        await files.list_files("gone")


async def test_a_folder_stays_when_its_last_file_goes(files: Files) -> None:
    await files.write("a/b.txt", b"b")
    await files.delete("a/b.txt")
    assert await files.list_files("a") == ()


async def test_a_file_is_no_folder_and_a_folder_no_file(files: Files) -> None:
    await files.write("a/b.txt", b"b")
    for act in (files.read("a"), files.write("a", b""), files.delete("a"), files.fingerprint("a")):
        with pytest.raises(CommandError, match=r"^a is a folder, not a file\.$"):
            await act
    for other in (files.write("a/b.txt/c", b""), files.list_files("a/b.txt"), files.fingerprint("a/b.txt/c/d")):
        with pytest.raises(CommandError, match=r"^a/b.txt is a file, not a folder\.$"):
            await other


async def test_a_fingerprint_stands_for_the_content(files: Files) -> None:
    none = await files.fingerprint("deep/a.txt")
    await files.write("deep/a.txt", b"one")
    one = await files.fingerprint("deep/a.txt")
    await files.write("deep/a.txt", b" more", append=True)
    more = await files.fingerprint("deep/a.txt")
    await files.write("deep/a.txt", b"one")
    assert none == ""
    assert one == await files.fingerprint("deep/a.txt") != more


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "//etc", "..", "../x", "a/../../x", "a/../b", "a/..", "./..", "\0", "a\0/../b"]
)
async def test_a_path_that_leads_out_is_refused(files: Files, path: str) -> None:
    for act in (files.read(path), files.write(path, b""), files.delete(path), files.fingerprint(path)):
        with pytest.raises(OutsideWorkspace):
            await act
    with pytest.raises(OutsideWorkspace):
        await files.list_files(path)


@pytest.mark.parametrize(
    "path", ["", ".", "./", "a/", "a/.", "x" * 300, "é" * 200, "a\\b", "..\\up", "line\nbreak", "\ud800", "\u202etxt.a"]
)
async def test_a_text_that_names_no_file_is_refused(files: Files, path: str) -> None:
    for act in (files.read(path), files.write(path, b""), files.delete(path), files.fingerprint(path)):
        with pytest.raises(CommandError):
            await act
    assert await files.list_files() == ()


@pytest.mark.parametrize(
    "path", ["~", "~/x", "C:", "C:/x", "日本/語.txt", "👩‍💻.md", "...", "a b", ".hidden", "x" * 255]
)
async def test_an_unusual_name_is_just_a_name(files: Files, path: str) -> None:
    await files.write(path, b"content")
    assert await files.read(path) == b"content"
    assert await names(files) == [path]


async def test_folders_end_at_some_depth(files: Files) -> None:
    await files.write("d/" * 19 + "file", b"")
    with pytest.raises(CommandError, match="at most 20 folders deep"):
        await files.write("d/" * 20 + "file", b"")
    assert await names(files) == ["d/" * 19 + "file"]


async def test_a_file_may_hold_so_much(make: Make) -> None:
    files = make(SMALL).of(ADA)
    await files.write("a", b"x" * 100)
    for act in (files.write("b", b"x" * 101), files.write("a", b"x", append=True)):
        with pytest.raises(CommandError, match=r"would hold 101 bytes; a file may hold at most 100\.$"):
            await act
    assert [(entry.path, entry.size) for entry in await files.list_files()] == [("a", 100)]


async def test_a_workspace_may_hold_so_much(make: Make) -> None:
    files = make(SMALL).of(ADA)
    await files.write("a", b"x" * 100)
    await files.write("b", b"x" * 100)
    with pytest.raises(CommandError, match="may hold at most 250 bytes; new/c does not fit"):
        await files.write("new/c", b"x" * 51)
    await files.write("b", b"x" * 100)
    await files.write("c", b"x" * 50)


async def test_a_workspace_may_hold_so_many_files(make: Make) -> None:
    files = make(SMALL).of(ADA)
    for path in "abc":
        await files.write(path, b"x")
    with pytest.raises(CommandError, match="at most 3 files"):
        await files.write("d", b"x")
    await files.write("c", b"y")
    await files.delete("a")
    await files.write("d", b"x")


async def test_workspaces_are_sealed_from_each_other(workspaces: Workspaces) -> None:
    await workspaces.of(ADA).write("a.txt", b"ada")
    assert await workspaces.of(BOB).list_files() == ()
    assert await workspaces.of(ADA).read("a.txt") == b"ada"


async def test_a_removed_workspace_is_empty_and_can_be_written_to_again(workspaces: Workspaces) -> None:
    files = workspaces.of(ADA)
    await files.write("a/b/c.txt", b"c")
    await workspaces.of(BOB).write("b.txt", b"b")
    await workspaces.remove(ADA)
    await workspaces.remove(ADA)
    assert await files.list_files() == ()
    await files.write("new.txt", b"")
    assert await names(workspaces.of(BOB)) == ["b.txt"]


@pytest.mark.slow
@pytest.mark.proves("trash:kept")
async def test_a_deleted_file_is_in_the_trash_alone_and_counts_no_more(make: Make) -> None:
    files = make(SMALL).of(ADA)
    for text in (b"x" * 90, b"y" * 90, b"z" * 90):
        await files.write("notes/a.txt", text)
        assert await move_to_trash(files, "notes//a.txt", expected=content_fingerprint(text))
    assert [each.path for each in await list_trash(files)] == ["notes/a.txt"] * 3
    assert await names(files) == []
    with pytest.raises(CommandError):
        await files.read("../.trash/0ada/notes/a.txt")


@pytest.mark.proves("trash:kept")
@pytest.mark.parametrize("path", [f"{'n' * 250}.txt", "/".join("abcdefghijklmnopqrst"), f"{'é' * 60}/{'é' * 60}/ü.md"])
async def test_a_file_with_a_long_path_is_kept_too(files: Files, path: str) -> None:
    await files.write(path, b"x")
    assert await move_to_trash(files, path, expected=None)
    (kept,) = await list_trash(files)
    assert path.endswith(kept.path)
    assert await files.trash.read(kept.key) == b"x"


@pytest.mark.proves("trash:kept")
async def test_a_file_that_changed_is_neither_deleted_nor_in_the_trash(files: Files) -> None:
    await files.write("a.txt", b"new")
    with pytest.raises(CommandError, match="changed after this was approved"):
        await move_to_trash(files, "a.txt", expected=content_fingerprint(b"old"))
    assert await list_trash(files) == ()
    assert await files.read("a.txt") == b"new"


@pytest.mark.proves("trash:agent")
async def test_the_trash_goes_with_its_workspace_alone(workspaces: Workspaces) -> None:
    for agent in (ADA, BOB):
        await workspaces.of(agent).write("a.txt", b"x")
        await move_to_trash(workspaces.of(agent), "a.txt", expected=None)
    await workspaces.remove(ADA)
    assert await list_trash(workspaces.of(ADA)) == ()
    (left,) = [await names(trash) for trash in await workspaces.trashes() if await trash.list_files()]
    assert left == [each.key for each in await list_trash(workspaces.of(BOB))]
