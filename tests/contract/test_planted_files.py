"""What a workspace in a folder keeps to, whatever is planted in it."""

import asyncio
import errno
import fcntl
import os
import socket
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.files.safe_fs import OPEN_FOLDER, _LimitReached, _Walk, open_descriptor, replace_file
from agent_core.capabilities.files.workspace_lock import lock_workspace
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.errors import CommandError, OutsideWorkspace
from agent_core.model.files import content_fingerprint
from agent_core.model.ids import AgentId
from agent_core.ports.files import Files
from agent_core.testing.examples import an_agent

ADA = an_agent(id=AgentId("0ada"))
SMALL = Limits(file_bytes=100, workspace_bytes=250, files=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    return inside


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    beyond = tmp_path / "outside"
    beyond.mkdir()
    (beyond / "secret.txt").write_text("secret")
    return beyond


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


async def names(files: Files) -> list[str]:
    return [entry.path for entry in await files.list_files()]


@pytest.mark.parametrize("path", ["link.txt", "dir/secret.txt", "dir", "loop", "dangling"])
async def test_a_link_planted_before_is_not_followed(folder: Path, outside: Path, path: str) -> None:
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "dir").symlink_to(outside)
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to(outside / "new.txt")
    files = FolderFiles(folder)
    writes = (files.write(path, b"x"), files.write(path, b"x", append=True))
    for act in (files.read(path), files.delete(path), files.fingerprint(path), *writes):
        with pytest.raises(OutsideWorkspace):
            await act
    assert names_in(outside) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"


async def test_links_are_neither_listed_nor_listed_through(folder: Path, outside: Path) -> None:
    (folder / "own.txt").write_text("own")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "dir").symlink_to(outside)
    files = FolderFiles(folder)
    assert await names(files) == ["own.txt"]
    with pytest.raises(OutsideWorkspace):
        await files.list_files("dir")


async def test_a_folder_swapped_for_a_link_after_the_listing_is_not_written_through(
    folder: Path, outside: Path
) -> None:
    files = FolderFiles(folder)
    await files.write("dir/a.txt", b"a")
    await files.list_files("dir")
    (folder / "dir").rename(folder / "moved")
    (folder / "dir").symlink_to(outside)
    with pytest.raises(OutsideWorkspace):
        await files.write("dir/a.txt", b"b")
    assert names_in(outside) == ["secret.txt"]


async def test_the_workspace_itself_may_not_be_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "0ada").symlink_to(outside)
    files = FolderWorkspaces(tmp_path).of(ADA)
    for act in (files.write("new.txt", b"x"), files.read("secret.txt"), files.list_files()):
        with pytest.raises(CommandError):
            await act
    assert names_in(outside) == ["secret.txt"]


async def test_pipes_sockets_and_folders_of_them_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    files = FolderFiles(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path in ("pipe", "socket"):
            appended = files.write(path, b"x", append=True)
            for act in (files.read(path), files.fingerprint(path), files.write(path, b"x"), appended):
                with pytest.raises(CommandError, match=r"is a pipe, a socket or a device, not a file\.$"):
                    await act
    assert await files.list_files() == ()


async def test_a_reader_sees_the_old_or_the_new_file_never_half(folder: Path) -> None:
    files, whole = FolderFiles(folder), {letter * 1_000_000 for letter in "ab"}
    await files.write("a.txt", b"a" * 1_000_000)
    before = (folder / "a.txt").open()
    await files.write("a.txt", b"b" * 1_000_000)
    with before:
        assert before.read() in whole
    assert (folder / "a.txt").read_text() in whole


async def test_a_file_that_another_machine_replaced_while_it_was_opened_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS answers ESTALE then."""
    files, opened, faults = FolderFiles(folder), os.open, iter((True, True, False))

    def replaced_elsewhere(path: Path | str, *arguments: int, **options: int) -> int:
        if path == "a.txt" and next(faults, False):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return opened(path, *arguments, **options)

    await files.write("a.txt", b"new")
    monkeypatch.setattr(os, "open", replaced_elsewhere)
    assert await files.read("a.txt") == b"new"
    faults = iter((True, True, False))
    assert await files.fingerprint("a.txt") == content_fingerprint(b"new")
    faults = iter((True, True, True))
    with pytest.raises(CommandError, match="Stale file handle"):
        await files.read("a.txt")


@pytest.mark.slow
@pytest.mark.proves("files:one-writer")
@pytest.mark.parametrize("act", ["write", "append", "delete"])
async def test_a_writer_waits_for_another_machine_and_compares_afterwards(folder: Path, act: str) -> None:
    files = FolderFiles(folder)
    await files.write("a.txt", b"first")
    first = content_fingerprint(b"first")
    with lock_workspace(folder):
        here = (
            files.delete("a.txt", expected=first)
            if act == "delete"
            else files.write("a.txt", b"here", append=act == "append", expected=first)
        )
        waiting = asyncio.create_task(here)
        done, _ = await asyncio.wait((waiting,), timeout=0.2)
        (folder / "a.txt").write_bytes(b"elsewhere")
    assert not done
    with pytest.raises(CommandError, match="changed after this was approved"):
        await waiting
    assert names_in(folder) == ["a.txt"]
    assert (folder / "a.txt").read_bytes() == b"elsewhere"


APPENDING = """
import asyncio, sys
from pathlib import Path
from agent_core.capabilities.files.folder_workspace import FolderFiles
async def append(files, name):
    for number in range(40):
        await files.write("deep/log.txt", f"{name} {number}\\n".encode(), append=True)
asyncio.run(append(FolderFiles(Path(sys.argv[1])), sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.proves("files:one-writer")
async def test_lines_that_several_processes_append_are_all_kept(folder: Path) -> None:
    names = ("one", "two", "three")
    processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", APPENDING, folder, name) for name in names]
    assert [await process.wait() for process in processes] == [0] * len(names)
    lines = (folder / "deep" / "log.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"{name} {number}" for name in names for number in range(40))


async def test_no_lock_of_a_program_in_the_workspace_holds_up_a_write(folder: Path) -> None:
    files = FolderFiles(folder)
    await files.write("a.txt", b"a")
    with (folder / "a.txt").open("a") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        await files.write("a.txt", b"b", append=True)
    assert await files.read("a.txt") == b"ab"


async def test_a_write_that_fails_leaves_the_old_file_and_no_other(folder: Path) -> None:
    files = FolderFiles(folder)
    await files.write("a.txt", b"old")
    with open_descriptor(folder, OPEN_FOLDER) as descriptor, pytest.raises(TypeError):
        replace_file(descriptor, "a.txt", "no bytes", nullcontext)  # type: ignore[arg-type]
    assert names_in(folder) == ["a.txt"]
    assert await files.read("a.txt") == b"old"


async def test_an_unfinished_write_of_a_process_that_died_is_not_a_file(folder: Path) -> None:
    (folder / ".signoff-unfinished-1").write_text("half")
    files = FolderFiles(folder)
    assert await files.list_files() == ()
    with pytest.raises(CommandError):
        await files.read(".signoff-unfinished-1")


async def test_a_file_that_a_program_made_too_long_is_not_read(folder: Path) -> None:
    (folder / "big").write_bytes(b"x" * 101)
    with pytest.raises(CommandError, match="too long: at most 100 bytes"):
        await FolderFiles(folder, SMALL).read("big")


async def test_names_that_no_path_can_have_are_not_listed(folder: Path) -> None:
    for name in (b"back\\slash", b"line\nbreak", b"not-\xff-utf8"):
        (folder / os.fsdecode(name)).write_text("x")
    (folder / "fine").write_text("x")
    os.utime(folder / "fine", (2**40, 2**40))
    assert await names(FolderFiles(folder)) == ["fine"]


def test_a_walk_ends_however_many_folders_there_are(folder: Path) -> None:
    for path in ("a/b/c", "a/d", "e/f"):
        (folder / path).mkdir(parents=True)
        (folder / path / "file").write_text("x")
    with open_descriptor(folder, OPEN_FOLDER) as descriptor:
        whole, part = _Walk(), _Walk(left=4)
        whole.enter(descriptor, "", 0)
        with pytest.raises(_LimitReached):
            part.enter(descriptor, "", 0)
    assert len(whole.found) == 3 > len(part.found)


async def test_a_file_too_long_to_read_changes_its_fingerprint_by_size_and_time(folder: Path) -> None:
    files = FolderFiles(folder, SMALL)
    (folder / "big").write_bytes(b"x" * 101)
    first = await files.fingerprint("big")
    assert first == await files.fingerprint("big")
    (folder / "big").write_bytes(b"x" * 102)
    assert await files.fingerprint("big") != first


async def test_no_path_of_the_host_is_told(folder: Path) -> None:
    files = FolderFiles(folder / "file" / "workspace")
    (folder / "file").write_text("in the way")
    with pytest.raises(CommandError) as caught:
        await files.write("a.txt", b"a")
    assert str(folder) not in str(caught.value)


async def test_removing_deletes_links_and_not_what_they_lead_to(tmp_path: Path, outside: Path) -> None:
    workspaces = FolderWorkspaces(tmp_path)
    await workspaces.of(ADA).write("a/b.txt", b"b")
    (tmp_path / "0ada" / "link").symlink_to(outside)
    (tmp_path / "0ada" / "a" / "link.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(tmp_path / "0ada" / "pipe")
    await workspaces.remove(ADA)
    assert not (tmp_path / "0ada").exists()
    assert (outside / "secret.txt").read_text() == "secret"


@pytest.mark.slow
async def test_a_workspace_as_deep_as_a_program_can_make_it_is_removed(tmp_path: Path) -> None:
    workspaces = FolderWorkspaces(tmp_path)
    await workspaces.of(ADA).write("a.txt", b"a")
    inner = os.open(tmp_path / "0ada", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=inner)
        deeper = os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = deeper
    os.close(inner)
    await workspaces.remove(ADA)
    assert not (tmp_path / "0ada").exists()


@pytest.mark.parametrize("name", ["..", ".", "../../up", "a/b"])
async def test_no_agents_id_leads_out_of_the_root(tmp_path: Path, name: str) -> None:
    workspaces = FolderWorkspaces(tmp_path / "root")
    agent = replace(ADA, id=AgentId(name))
    assert workspaces.of(agent).folder.resolve().parent == tmp_path / "root"
