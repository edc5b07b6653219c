"""The lock of a workspace in a folder: one writer at a time, of all threads, processes and machines with the folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

LOCKS_FOLDER = ".locks"  # beside the workspaces, where programs of agents cannot reach it
LOCK_COUNT = 64  # lock files, each for many workspaces; they are never deleted
OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC  # NFS locks only files that are open for writing


@contextmanager
def lock_workspace(folder: Path) -> Iterator[None]:
    """Hold the lock of the workspace in `folder`. Waits for other holders, which hold it for one write."""
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_lock(folder: Path) -> int:
    number = sha256(folder.name.encode(errors="surrogateescape")).digest()[0] % LOCK_COUNT
    file = folder.parent / LOCKS_FOLDER / str(number)
    try:
        return os.open(file, OPEN_LOCK, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(file, OPEN_LOCK, 0o600)
