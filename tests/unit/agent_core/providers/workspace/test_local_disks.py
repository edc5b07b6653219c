"""Only a file system of this machine counts as local: what may wait for a network is read in threads."""

import asyncio
import os
from pathlib import Path

import pytest

from agent_core.errors import CommandError
from agent_core.providers.workspace.folder_workspace import SHORT_BYTES, SHORT_VISITS, FolderFiles
from agent_core.providers.workspace.local_disks import KNOWN_SECONDS, LocalDisk, is_on_local_disk

MOUNTS = r"""22 1 0:20 / / rw shared:1 - overlay overlay rw
23 22 0:21 / /data rw shared:2 master:3 - ext4 /dev/sda1 rw
24 23 0:22 / /data/shared rw - nfs4 server:/export rw
25 22 0:23 / /my\040disk rw - xfs /dev/sdb1 rw
26 22 0:24 / /fused rw - fuse.sshfs host: rw
27 22 0:25 / /twice rw - ext4 /dev/sdc1 rw
28 27 0:26 / /twice rw - cifs //host/share rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS, "utf-8")
    return path


@pytest.mark.parametrize("folder", ["/home/a", "/data/signoff", "/data/sharedness", "/my disk/a"])
def test_disks_of_this_machine_are_local(mounts: Path, folder: str) -> None:
    assert is_on_local_disk(Path(folder), mounts)


@pytest.mark.parametrize("folder", ["/data/shared", "/data/shared/a", "/fused/a", "/twice/a", "/", "/data/"])
def test_what_another_machine_serves_is_not_local(mounts: Path, folder: str) -> None:
    assert not is_on_local_disk(Path(folder), mounts)


def test_a_link_to_another_machine_is_not_local(mounts: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/data/shared/a")
    assert not is_on_local_disk(tmp_path / "link", mounts)


def test_a_file_system_that_is_mounted_after_the_start_counts(mounts: Path) -> None:
    now = 0.0
    disk = LocalDisk(Path("/home/workspaces"), mounts, lambda: now)
    assert disk.is_local
    mounts.write_text(MOUNTS + "29 22 0:27 / /home/workspaces/a rw - fuse.sshfs host: rw\n", "utf-8")
    assert disk.is_local, "looked up once, since a file is read for each"
    now += KNOWN_SECONDS
    assert not disk.is_local


def test_without_a_table_of_mounts_nothing_is_local(tmp_path: Path) -> None:
    assert not is_on_local_disk(tmp_path, tmp_path / "missing")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was run in threads."""
    run = asyncio.to_thread
    found: list[object] = []

    async def to_thread(*given: object) -> object:
        found.append(given)
        return await run(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    return found


async def test_small_files_of_a_local_folder_are_read_at_once_and_others_in_threads(
    tmp_path: Path, threads: list[object]
) -> None:
    files = FolderFiles(tmp_path, is_local=True)
    (tmp_path / "small.txt").write_bytes(b"a" * SHORT_BYTES)
    (tmp_path / "large.txt").write_bytes(b"a" * (SHORT_BYTES + 1))
    small = await files.read("small.txt"), await files.fingerprint("small.txt")
    assert [entry.path for entry in await files.list_files()] == ["large.txt", "small.txt"]
    assert threads == []
    large = await files.read("large.txt"), await files.fingerprint("large.txt")
    assert len(threads) == 2
    remote = FolderFiles(tmp_path)
    assert (await remote.read("small.txt"), await remote.fingerprint("small.txt")) == small
    assert (await remote.read("large.txt"), await remote.fingerprint("large.txt")) == large
    assert len(threads) == 6


async def test_a_file_that_grows_while_it_is_read_is_read_on_in_a_thread(threads: list[object]) -> None:
    itself = FolderFiles(Path(f"/proc/{os.getpid()}"), is_local=True)  # the kernel says that its files have no bytes
    assert len(await itself.read("smaps")) > SHORT_BYTES
    assert len(threads) == 1


async def test_a_folder_of_many_files_is_listed_in_a_thread(tmp_path: Path, threads: list[object]) -> None:
    for number in range(SHORT_VISITS + 1):
        (tmp_path / f"{number}.txt").touch()
    assert len(await FolderFiles(tmp_path, is_local=True).list_files()) == SHORT_VISITS + 1
    assert len(threads) == 1


@pytest.mark.parametrize("name", ["pipe", "missing.txt", "link.txt", "folder"])
async def test_what_is_no_regular_file_is_refused_at_once_too(tmp_path: Path, threads: list[object], name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandError):
        await FolderFiles(tmp_path, is_local=True).read(name)
    assert threads == []


async def test_who_looks_at_small_files_again_and_again_lets_the_event_loop_do_its_other_work(tmp_path: Path) -> None:
    (tmp_path / "small.txt").touch()
    files = FolderFiles(tmp_path, is_local=True)

    async def read_on() -> None:
        while True:
            await files.read("small.txt")

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(read_on(), 0.05)
