"""What programs change in the copy of a workspace, and what others change in the storage meanwhile."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from agent_core.errors import CommandError
from agent_core.model.ids import AgentId
from agent_core.ports.files import Files
from agent_core.providers.sandbox.lent_folder import LentFolder
from agent_core.providers.workspace.s3_storage import S3Bucket, S3Storage
from agent_core.providers.workspace.s3_workspace import S3Files, S3Workspaces
from agent_core.providers.workspace.workspace_copies import WorkspaceCopies, make_copies_folder
from agent_core.providers.workspace.workspace_paths import Limits
from agent_core.testing.examples import an_agent
from tests.standins.s3 import S3Gate

ADA = an_agent(id=AgentId("0ada"))


@pytest.fixture
def elsewhere(s3_bucket: S3Bucket) -> S3Files:
    """The files as another machine uses them."""
    return S3Workspaces(S3Storage(bucket=s3_bucket)).of(ADA)


@pytest.fixture
def copies(s3_bucket: S3Bucket, tmp_path: Path) -> WorkspaceCopies:
    return WorkspaceCopies(S3Workspaces(S3Storage(bucket=s3_bucket)), tmp_path / "copies")


async def contents(files: Files) -> dict[str, bytes]:
    return {entry.path: await files.read(entry.path) for entry in await files.list_files()}


def folder_of(lent: LentFolder) -> Path:
    return lent.files.folder


async def test_what_a_program_made_changed_and_deleted_is_saved(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    for path in ("kept.txt", "deep/changed.txt", "deep/deleted.txt"):
        await elsewhere.write(path, b"before")
    lent = await copies.lend(ADA)
    assert sorted(await contents(lent.files)) == ["deep/changed.txt", "deep/deleted.txt", "kept.txt"]
    (folder_of(lent) / "deep" / "changed.txt").write_bytes(b"after!")  # as long as before
    (folder_of(lent) / "deep" / "deleted.txt").unlink()
    (folder_of(lent) / "new" / "er").mkdir(parents=True)
    (folder_of(lent) / "new" / "made.bin").write_bytes(bytes(range(256)))
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {
        "deep/changed.txt": b"after!", "kept.txt": b"before", "new/made.bin": bytes(range(256)),
    }  # fmt: skip
    assert await elsewhere.list_files("new/er") == ()
    assert not folder_of(lent).exists()


@pytest.mark.slow
async def test_many_files_are_copied_at_once_each_with_its_own_content(
    copies: WorkspaceCopies, elsewhere: S3Files
) -> None:
    expected = {f"d/{number:02}": b"content of %d" % number for number in range(48)}
    first = await copies.lend(ADA)
    (folder_of(first) / "d").mkdir()
    for path, content in expected.items():
        (folder_of(first) / path).write_bytes(content)
    assert await first.give_back() == ""
    assert await contents(elsewhere) == expected
    second = await copies.lend(ADA)
    assert await contents(second.files) == expected
    await second.give_back()


async def test_an_executable_and_an_empty_folder_come_back_with_the_next_copy(copies: WorkspaceCopies) -> None:
    first = await copies.lend(ADA)
    (folder_of(first) / "empty").mkdir()
    (folder_of(first) / "gone").mkdir()
    (folder_of(first) / "tool.sh").write_text("#!/bin/sh\n")
    (folder_of(first) / "tool.sh").chmod(0o755)
    await first.give_back()
    second = await copies.lend(ADA)
    assert os.access(folder_of(second) / "tool.sh", os.X_OK)
    assert (folder_of(second) / "empty").is_dir()
    (folder_of(second) / "gone").rmdir()
    (folder_of(second) / "tool.sh").chmod(0o644)
    await second.give_back()
    third = await copies.lend(ADA)
    assert sorted(path.name for path in folder_of(third).iterdir()) == ["empty", "tool.sh"]
    assert not (folder_of(third) / "tool.sh").stat().st_mode & 0o100
    await third.give_back()


@pytest.mark.proves("programs:conflict")
async def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    copies: WorkspaceCopies, elsewhere: S3Files
) -> None:
    for path in ("a/a.txt", "both.txt", "mine.txt", "same.txt", "theirs.txt"):
        await elsewhere.write(path, b"before")
    lent = await copies.lend(ADA)
    for path in ("a/a.txt", "both.txt", "mine.txt", "new.txt", "same.txt"):
        (folder_of(lent) / path).write_bytes(b"by the program")
    for path in ("a/a.txt", "new.txt", "theirs.txt"):
        await elsewhere.write(path, b"by somebody else")
    await elsewhere.delete("both.txt")
    await elsewhere.write("same.txt", b"by the program")
    note = await lent.give_back()
    assert await contents(elsewhere) == {
        "a/a.from-program.txt": b"by the program",
        "a/a.txt": b"by somebody else",
        "both.from-program.txt": b"by the program",
        "mine.txt": b"by the program",
        "new.from-program.txt": b"by the program",
        "new.txt": b"by somebody else",
        "same.txt": b"by the program",
        "theirs.txt": b"by somebody else",
    }
    assert sorted(note.splitlines()) == [
        "a/a.txt was changed by somebody else meanwhile, so what the program wrote is in a/a.from-program.txt.",
        "both.txt was deleted by somebody else meanwhile, so what the program wrote is in both.from-program.txt.",
        "new.txt was changed by somebody else meanwhile, so what the program wrote is in new.from-program.txt.",
    ]


@pytest.mark.proves("programs:conflict")
async def test_what_somebody_else_changed_meanwhile_is_not_deleted(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    await elsewhere.write("a.txt", b"before")
    await elsewhere.write("b.txt", b"before")
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").unlink()
    (folder_of(lent) / "b.txt").unlink()
    await elsewhere.write("a.txt", b"after")
    assert await lent.give_back() == "a.txt was changed by somebody else meanwhile, so it was not deleted."
    assert await contents(elsewhere) == {"a.txt": b"after"}


async def test_a_second_version_beside_does_not_replace_the_first(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    for number in (1, 2):
        await elsewhere.write("a.tar.gz", b"before %d" % number)
        lent = await copies.lend(ADA)
        (folder_of(lent) / "a.tar.gz").write_bytes(b"program %d" % number)
        await elsewhere.write("a.tar.gz", b"other %d" % number)
        await lent.give_back()
    assert await contents(elsewhere) == {
        "a.tar.from-program-2.gz": b"program 2", "a.tar.from-program.gz": b"program 1", "a.tar.gz": b"other 2",
    }  # fmt: skip


async def test_files_and_background_programs_see_each_other_at_each_file_command(
    copies: WorkspaceCopies, elsewhere: S3Files
) -> None:
    await elsewhere.write("input.txt", b"one")
    lent, files = await copies.lend(ADA), copies.of(ADA)
    (folder_of(lent) / "log.txt").write_bytes(b"it runs")
    assert await files.read("log.txt") == b"it runs"
    assert await elsewhere.read("log.txt") == b"it runs"
    await files.write("input.txt", b"two")
    assert (folder_of(lent) / "input.txt").read_bytes() == b"two"
    await files.delete("log.txt")
    assert not (folder_of(lent) / "log.txt").exists()
    await elsewhere.write("input.txt", b"three")
    assert [entry.size for entry in await files.list_files()] == [5]
    assert (folder_of(lent) / "input.txt").read_bytes() == b"three"
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {"input.txt": b"three"}


@pytest.mark.proves("programs:conflict")
async def test_what_a_program_writes_while_a_file_is_fetched_is_not_overwritten(
    s3_gate: S3Gate, elsewhere: S3Files, tmp_path: Path
) -> None:
    copies = WorkspaceCopies(S3Workspaces(S3Storage(bucket=s3_gate.bucket)), tmp_path / "copies")
    await elsewhere.write("a.txt", b"before")
    lent = await copies.lend(ADA)
    await elsewhere.write("a.txt", b"by somebody else")
    s3_gate.on_get = lambda: (folder_of(lent) / "a.txt").write_bytes(b"by the program")
    await copies.exchange("0ada")
    assert (folder_of(lent) / "a.txt").read_bytes() == b"by the program"
    s3_gate.on_get = None
    assert "a.from-program.txt" in await lent.give_back()
    assert await contents(elsewhere) == {"a.from-program.txt": b"by the program", "a.txt": b"by somebody else"}


async def test_programs_of_one_workspace_share_a_copy_until_the_last_one_ends(
    copies: WorkspaceCopies, elsewhere: S3Files
) -> None:
    first, second = await asyncio.gather(copies.lend(ADA), copies.lend(ADA))
    assert folder_of(first) == folder_of(second)
    (folder_of(first) / "a.txt").write_bytes(b"a")
    await first.give_back()
    assert folder_of(second).exists()
    (folder_of(second) / "b.txt").write_bytes(b"b")
    await asyncio.gather(second.give_back(), second.give_back(), *(copies.of(ADA).list_files() for _ in range(8)))
    assert sorted(await contents(elsewhere)) == ["a.txt", "b.txt"]
    assert not folder_of(second).exists()


async def test_a_file_may_become_a_folder_and_a_folder_a_file(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    await elsewhere.write("a", b"file")
    await elsewhere.write("b/c/d.txt", b"file")
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a").unlink()
    (folder_of(lent) / "a").mkdir()
    (folder_of(lent) / "a" / "inner.txt").write_bytes(b"inner")
    (folder_of(lent) / "b" / "c" / "d.txt").unlink()
    (folder_of(lent) / "b" / "c").rmdir()
    (folder_of(lent) / "b" / "c").write_bytes(b"now a file")
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {"a/inner.txt": b"inner", "b/c": b"now a file"}
    await elsewhere.write("b/c", b"still a file")


async def test_links_and_devices_are_told_and_a_link_deletes_nothing(
    copies: WorkspaceCopies, elsewhere: S3Files, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    await elsewhere.write("a.txt", b"before")
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").unlink()
    (folder_of(lent) / "a.txt").symlink_to(tmp_path / "secret")
    (folder_of(lent) / "out").symlink_to(tmp_path)
    os.mkfifo(folder_of(lent) / "pipe")
    (folder_of(lent) / "line\nbreak").write_text("x")
    assert await lent.give_back() == (
        "Not saved, as only plain files with usual names are: 'a.txt', 'line\\nbreak', 'out', 'pipe'."
    )
    assert await contents(elsewhere) == {"a.txt": b"before"}


async def test_two_machines_save_their_versions_beside_each_other(
    s3_bucket: S3Bucket, elsewhere: S3Files, tmp_path: Path
) -> None:
    await elsewhere.write("a.txt", b"before")
    machines = [
        WorkspaceCopies(S3Workspaces(S3Storage(bucket=s3_bucket)), tmp_path / f"machine-{number}")
        for number in range(3)
    ]
    lent = [await copies.lend(ADA) for copies in machines]
    await elsewhere.write("a.txt", b"by somebody else")
    for number, each in enumerate(lent):
        (folder_of(each) / "a.txt").write_bytes(b"program %d" % number)
    notes = await asyncio.gather(*(each.give_back() for each in lent))
    saved = await contents(elsewhere)
    assert saved.pop("a.txt") == b"by somebody else"
    assert sorted(saved) == [f"a.from-program{end}.txt" for end in ("-2", "-3", "")]
    assert {*saved.values()} == {b"program %d" % number for number in range(3)}
    assert all("what the program wrote is in a.from-program" in note for note in notes)


async def test_a_folder_that_cannot_be_stored_is_told_and_keeps_nothing_else(
    copies: WorkspaceCopies, elsewhere: S3Files
) -> None:
    lent = await copies.lend(ADA)
    (folder_of(lent) / "/".join(["d" * 200] * 6)).mkdir(parents=True)
    (folder_of(lent) / "a.txt").write_bytes(b"a")
    assert "The path is longer than" in await lent.give_back()
    assert await contents(elsewhere) == {"a.txt": b"a"}


async def test_a_copy_that_a_program_closed_is_told_and_saved_afterwards(
    copies: WorkspaceCopies, elsewhere: S3Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").write_bytes(b"a")
    opened = os.open

    def refuse(name: Path | str, *arguments: int, **options: int) -> int:
        if name == folder_of(lent):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(name, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)  # as an ordinary account finds a folder after chmod 000
        with pytest.raises(CommandError, match="Permission denied"):
            await copies.of(ADA).list_files()
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {"a.txt": b"a"}


async def test_the_limits_of_the_workspace_hold(s3_bucket: S3Bucket, elsewhere: S3Files, tmp_path: Path) -> None:
    stored = S3Workspaces(S3Storage(bucket=s3_bucket), Limits(file_bytes=100, workspace_bytes=250, files=3))
    copies = WorkspaceCopies(stored, tmp_path / "copies")
    await elsewhere.write("long", b"x" * 101)
    lent = await copies.lend(ADA)
    for name in ("b", "c", "d"):
        (folder_of(lent) / name).write_bytes(b"x" * 20)
    note = await lent.give_back()
    assert note.startswith("long was not copied: it is too long to be copied to this machine.\n")
    assert note.count("at most 3 files") == 1
    assert len(await elsewhere.list_files()) == 3


@pytest.mark.slow
async def test_what_cannot_be_saved_is_saved_later(s3_gate: S3Gate, elsewhere: S3Files, tmp_path: Path) -> None:
    copies = WorkspaceCopies(S3Workspaces(S3Storage(bucket=s3_gate.bucket)), tmp_path / "copies")
    await elsewhere.write("a.txt", b"before")
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").write_bytes(b"after")
    (folder_of(lent) / "b.txt").write_bytes(b"new")
    s3_gate.refuses = True
    assert (await lent.give_back()).startswith("Its files are not saved yet: The storage of the agents' files")
    with pytest.raises(CommandError, match="The storage of the agents' files"):
        await copies.of(ADA).read("a.txt")
    with pytest.raises(CommandError, match="The storage of the agents' files"):
        await copies.lend(ADA)
    s3_gate.refuses = False
    assert await copies.of(ADA).read("a.txt") == b"after"
    assert await contents(elsewhere) == {"a.txt": b"after", "b.txt": b"new"}
    assert not folder_of(lent).exists()


async def test_a_copy_that_vanishes_deletes_nothing(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    await elsewhere.write("a.txt", b"a")
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").unlink()
    folder_of(lent).rmdir()
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {"a.txt": b"a"}


async def test_a_removed_workspace_does_not_come_back(copies: WorkspaceCopies, elsewhere: S3Files) -> None:
    lent = await copies.lend(ADA)
    (folder_of(lent) / "a.txt").write_bytes(b"a")
    await copies.remove(ADA)
    assert await lent.give_back() == ""
    assert await contents(elsewhere) == {}


def test_copies_of_processes_that_died_are_removed(tmp_path: Path) -> None:
    mine, remove = make_copies_folder(tmp_path)
    (mine / "file").write_text("mine")
    died = tmp_path / "died"
    died.mkdir()
    (tmp_path / "died.lock").touch()
    other, remove_other = make_copies_folder(tmp_path)
    assert (mine / "file").exists()
    assert not died.exists()
    assert other != mine
    remove()
    remove_other()
    assert [*tmp_path.iterdir()] == []
