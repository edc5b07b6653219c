"""What programs in the sandbox leave behind: processes, links, files that give rights away, and too much data."""

import asyncio
import os
import select
import signal
import stat
import sys
from pathlib import Path

import pytest

from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_quota import WorkspaceQuota
from agent_core.errors import CommandError
from tests.attacks.rows import attack
from tests.attacks.sandboxes import LONG, SMALL, Cell, alive
from tests.patience import PATIENCE_SECONDS

# What outlives a program: processes, dumps, links, pipes, and folders without rights


@pytest.mark.slow
@attack("sandbox", "A fork bomb", "Resource temporarily unavailable, and all of its processes are killed at the end")
async def test_a_fork_bomb_fizzles(cell: Cell, answer: str) -> None:
    code = "while True:\n    if not os.fork(): signal.pause()"
    run = await cell.attempt(code, token=cell.token)
    assert f"{run.output.strip()}, and all of its processes are killed at the end" == answer
    assert alive(cell.token) == []


@pytest.mark.slow
@attack("sandbox", "A daemon that forks twice to outlive its command", "ended with the command")
async def test_nothing_outlives_its_command(cell: Cell, answer: str) -> None:
    code = """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 99)
                signal.pause()
        return "forked"
    """
    run = await cell.attempt(code, token=cell.token)
    assert (run.output.split()[-1], alive(cell.token)) == ("forked", []), answer


@pytest.mark.slow
@attack(
    "sandbox", "Outliving Stop with a process that ignores every signal", "the whole process tree is killed at once"
)
async def test_stop_ends_the_whole_tree_before_it_returns(cell: Cell, answer: str) -> None:
    said = asyncio.Event()
    code = "trap '' TERM INT HUP QUIT; (setsid sleep 1000 &) ; echo ready; while true; do sleep 1; done"
    line = ("/bin/sh", "-c", code, cell.token)
    running = asyncio.create_task(cell.sandbox.run(line, cell.agent, seconds=LONG, report=lambda _: said.set()))
    await asyncio.wait_for(said.wait(), PATIENCE_SECONDS)
    assert alive(cell.token) != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert alive(cell.token) == [], answer


@pytest.mark.slow
@attack("sandbox", "Outliving the bot, which is killed", "ended with the bot")
async def test_nothing_outlives_the_bot(cell: Cell, answer: str) -> None:
    bot = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.attacks.sandboxes", str(cell.data), cell.token, stdout=asyncio.subprocess.PIPE
    )
    assert bot.stdout is not None
    assert await asyncio.wait_for(bot.stdout.readline(), PATIENCE_SECONDS) == b"it runs\n"
    handles = [os.pidfd_open(process) for process in alive(cell.token)]
    assert handles != []
    bot.send_signal(signal.SIGKILL)
    await bot.wait()
    for handle in handles:
        assert await asyncio.to_thread(ended, handle), answer


@attack("sandbox", "Leaving a core dump behind", "no core dump is written")
async def test_a_crash_leaves_no_dump(cell: Cell, answer: str) -> None:
    run = await cell.attempt("print(resource.getrlimit(resource.RLIMIT_CORE), flush=True); os.abort()")
    assert (run.output.strip(), run.exit_code) == ("(1, 1)", 128 + signal.SIGABRT), answer
    assert await cell.files.list_files() == ()


@attack(
    "sandbox", "Planting a symlink to the bot's database for the bot to read", "refused: it points out of the workspace"
)
async def test_a_planted_link_is_not_read_by_the_bot(cell: Cell, answer: str) -> None:
    await cell.attempt("os.symlink(given['database'], 'notes.txt')", database=str(cell.data / "signoff.db"))
    with pytest.raises(CommandError, match="links out"):
        await cell.files.read("notes.txt")
    assert await cell.files.list_files() == (), answer


@pytest.mark.slow
@attack("sandbox", "Planting a named pipe that blocks its reader", "refused at once: it is not a regular file")
async def test_a_planted_pipe_holds_nobody_up(cell: Cell, answer: str) -> None:
    await cell.attempt("os.mkfifo('notes.txt')")
    with pytest.raises(CommandError, match="is a pipe"):
        await cell.files.read("notes.txt")
    assert await cell.files.list_files() == (), answer


@pytest.mark.slow
@attack(
    "sandbox",
    "Planting a symlink so that the bot changes the owner of its target",
    "only the symlink changes its owner",
)
async def test_what_a_planted_link_leads_to_is_not_handed_over(cell: Cell, answer: str) -> None:
    other = cell.data / "other"
    other.mkdir()
    (other / "secret").write_text("secret")
    (other / "secret").chmod(0o400)
    other.chmod(0o500)
    before = [(path.stat().st_uid, path.stat().st_mode) for path in (other, other / "secret")]
    code = "os.symlink(given['other'], 'folder'), os.symlink(given['other'] + '/secret', 'file'), os.mkdir('d', 0)"
    await cell.attempt(code, other=str(other))
    (cell.files.folder / "cloned").symlink_to(other)  # as a repository may bring it, made by the bot itself
    await cell.attempt("pass")
    assert [(path.stat().st_uid, path.stat().st_mode) for path in (other, other / "secret")] == before, answer
    assert stat.S_IMODE((cell.files.folder / "d").stat().st_mode) == 0o700


@pytest.mark.slow
@attack("sandbox", "Removing the bot's permissions on the workspace", "the permissions are restored")
async def test_a_workspace_without_rights_can_be_used(cell: Cell, answer: str) -> None:
    await cell.attempt(
        "open('a.txt', 'x').write('a'), os.chmod('a.txt', 0), os.mkdir('d'), os.chmod('d', 0), os.chmod('.', 0)"
    )
    assert await cell.files.read("a.txt") == b"a", answer
    await cell.files.write("d/b.txt", b"b")
    run = await cell.attempt("return open('d/b.txt', 'a').write('more')")
    assert run.output.strip() == "4"


@pytest.mark.slow
@attack("sandbox", "Giving a file a deceptive name", "the file is neither listed nor read")
async def test_a_name_that_cannot_be_shown_is_not_listed(cell: Cell, answer: str) -> None:
    await cell.attempt("open('report\u202etxt.exe', 'x'), open('two\\nlines', 'x'), open(b'\\xff', 'x')")
    assert await cell.files.list_files() == (), answer


def ended(handle: int) -> bool:
    """Wait for the end of a process."""
    with select.epoll() as ends:
        ends.register(handle, select.EPOLLIN)
        found = ends.poll(PATIENCE_SECONDS)
    os.close(handle)
    return bool(found)


# Attacks by what programs leave behind: files that give rights away, and more data than a workspace may hold
REFUSED, NO_CALL, UNSUPPORTED = "Operation not permitted", "Function not implemented", "Operation not supported"


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


@pytest.mark.slow
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


@pytest.mark.slow
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
