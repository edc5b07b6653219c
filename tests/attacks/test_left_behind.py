"""Attacks by what programs leave behind: files that give rights away, and more data than a workspace may hold."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_quota import WorkspaceQuota
from tests.attacks.rows import attack
from tests.attacks.sandboxes import SMALL, Cell

REFUSED, NO_CALL, UNSUPPORTED = "Operation not permitted", "Function not implemented", "Operation not supported"


@pytest.fixture
async def cell(tmp_path: Path) -> AsyncIterator[Cell]:
    made = Cell.at(tmp_path)
    yield made
    await made.sandbox.close()


MAKING = [
    ("open('mine', 'x') and os.chmod('mine', 0o4755)", "Making a setuid file with chmod", REFUSED),
    ("os.fchmod(os.open('mine', os.O_CREAT), 0o2755)", "Making a setgid file with fchmod", REFUSED),
    ("os.mkdir('d') or os.chmod('d', 0o2777)", "Making a setgid folder", REFUSED),
    ("os.open('mine', os.O_CREAT | os.O_WRONLY, 0o4755)", "Making a setuid file with open", REFUSED),
    (
        "os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
        "Making one without a name (O_TMPFILE), to link it later",
        REFUSED,
    ),
    ("os.mknod('mine', stat.S_IFREG | 0o4755)", "Making a setuid file with mknod", REFUSED),
    (
        "called(libc.syscall(437, -100, b'mine', struct.pack('QQQ', os.O_CREAT, 0o4755, 0), 24))",
        "Making one with openat2, whose mode seccomp cannot inspect",
        NO_CALL,
    ),
    (
        "open('mine', 'x') and os.setxattr('mine', 'security.capability', struct.pack('<5I', 0x2000001, 128, 0, 0, 0))",
        "Giving a file a capability",
        UNSUPPORTED,
    ),
]


@pytest.mark.proves("sandbox:set-id")
@pytest.mark.parametrize(
    "code",
    [pytest.param(code, id=tries, marks=attack("sandbox", tries, answer)) for code, tries, answer in MAKING],
)
async def test_no_file_that_gives_rights_is_made(cell: Cell, code: str, answer: str) -> None:
    run = await cell.attempt(f"os.umask(0); return {code}")
    assert run.output.strip() == answer
    assert set_id_files(cell.files) == []


@pytest.mark.proves("sandbox:set-id")
@attack("sandbox", "Leaving a setuid file that was made in another way", "its bits are cleared after the next run")
async def test_set_id_bits_in_a_workspace_are_cleared(cell: Cell, answer: str) -> None:
    await cell.files.write("d/tool", b"#!/bin/sh\nid")
    (cell.files.folder / "d" / "tool").chmod(0o6755)
    (cell.files.folder / "d").chmod(0o2755)
    cell.files.folder.chmod(0o2755)
    await cell.attempt("pass")
    assert set_id_files(cell.files) == [], answer
    assert stat.S_IMODE((cell.files.folder / "d" / "tool").stat().st_mode) == 0o755


@pytest.mark.slow
@pytest.mark.proves("workspace:limit")
@attack("sandbox", "Filling the disk over many short runs", "the data of each run is removed again")
async def test_a_workspace_keeps_its_limit_over_many_runs(cell: Cell, answer: str) -> None:
    for number in range(20):
        await cell.files.write(f"{number}.log", bytes(95_000))
    code = "for number in range(20): open(f'{number}.log', 'ab').write(bytes(25_000))"
    runs = [await cell.sandbox.run(("python3", "-I", "-c", code), cell.agent, seconds=9.0) for _ in range(3)]
    told = "its workspace came to hold more than 2,000,000 bytes: the newest data was cleared, which is "
    assert [run.ended_because.startswith(told) for run in runs] == [True] * 3
    assert "10.log (cut back from 120,000 to 95,000 bytes), " in runs[-1].ended_because
    assert runs[-1].ended_because.endswith(" and 10 more")
    assert total(cell.files) == 20 * 95_000, answer


@pytest.mark.proves("workspace:limit")
async def test_what_an_earlier_run_made_stays_where_a_later_one_makes_too_much(cell: Cell) -> None:
    await cell.files.write("kept.txt", bytes(100_000))
    # Sparse files are made in less time than lies between two measurements, on a busy machine too.
    code = """
        os.mkdir("new")
        open("kept.txt", "ab").write(b"one more line")
        for number in range(12):
            open(f"new/{number}", "xb").truncate(190_000)
        open("two\\nlines", "xb").truncate(150_000)
    """
    run = await cell.attempt(code)
    assert run.ended_because == (
        "its workspace came to hold more than 2,000,000 bytes: the newest data was cleared, "
        "which is new (2,280,000 bytes, deleted), 'two\\nlines' (150,000 bytes, deleted)"
    )
    assert [(entry.path, entry.size) for entry in await cell.files.list_files()] == [("kept.txt", 100_013)]


@pytest.mark.slow
@pytest.mark.proves("workspace:limit")
async def test_a_workspace_over_its_limit_can_be_tidied_and_does_not_grow(tmp_path: Path) -> None:
    cell = Cell.at(tmp_path)
    cell.files.folder.mkdir(parents=True)
    for number in range(20):
        (cell.files.folder / f"{number}").write_bytes(bytes(150_000))
    grown = await cell.attempt("open('0', 'ab').write(bytes(40_000))")
    assert "0 (cut back from 190,000 to 150,000 bytes)" in grown.ended_because
    tidied = await cell.attempt("[os.unlink(str(number)) for number in range(9)]")
    assert (tidied.ended_because, total(cell.files)) == ("", 11 * 150_000)


@pytest.mark.proves("workspace:limit")
async def test_files_with_names_that_are_not_listed_count_as_well(cell: Cell) -> None:
    await cell.attempt("[open(f'{number}\\n', 'xb').write(bytes(190_000)) for number in range(10)]")
    with pytest.raises(Exception, match="may hold at most 2,000,000 bytes"):
        await cell.files.write("more.txt", bytes(190_000))


def test_a_folder_that_became_a_file_is_cleared_as_new(tmp_path: Path) -> None:
    premises = WorkspaceQuota(tmp_path / "w", SMALL)
    (tmp_path / "w" / "a").mkdir(parents=True)
    before = premises.hand_over()
    (tmp_path / "w" / "a").rmdir()
    (tmp_path / "w" / "a").write_bytes(bytes(3_000_000))
    assert [str(each) for each in premises.clear(before)] == ["a (3,000,000 bytes, deleted)"]


def total(files: FolderFiles) -> int:
    """Bytes of all files in a workspace."""
    return sum(path.stat().st_size for path in files.folder.rglob("*") if path.is_file())


def set_id_files(files: FolderFiles) -> list[str]:
    """What has a set-id bit in a workspace, its own folder among them."""
    every = (files.folder, *files.folder.rglob("*"))
    return [path.name for path in every if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
