"""How much memory a tree of processes holds, as /proc tells it. Blocking."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
KILOBYTE = 1024
COUNTED = ("RssAnon:", "RssShmem:")  # pages of programs and libraries are shared by all who run them


def memory_of(root: int) -> int:
    """Bytes that a process and all below it hold, what several of them share counted for each."""
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent in _parents():
        children[parent].append(process)
    found, total = [root], 0
    while found:
        process = found.pop()
        found += children[process]
        total += _memory(process)
    return total


def scratch_files(root: int, *folders: str) -> int:
    """How many files, folders and links there are in file systems of their own, as the process sees them."""
    total = 0
    for folder in folders:
        with suppress(OSError):
            told = os.statvfs(f"{PROC}/{root}/root{folder}")
            total += told.f_files - told.f_ffree
    return total


def tasks_of(user: int) -> int:
    """How many threads a user runs on this machine."""
    total = 0
    for process in _processes():
        with suppress(OSError):
            if (PROC / str(process)).stat().st_uid == user:
                total += len([*(PROC / str(process) / "task").iterdir()])
    return total


def _processes() -> Iterator[int]:
    return (int(path.name) for path in PROC.iterdir() if path.name.isdecimal())


def _parents() -> Iterator[tuple[int, int]]:
    for process in _processes():
        with suppress(OSError):
            told = (PROC / str(process) / "stat").read_text("utf-8", "replace")
            yield process, int(told.rpartition(")")[2].split()[1])  # the name before it may hold anything


def _memory(process: int) -> int:
    with suppress(OSError):
        lines = (PROC / str(process) / "status").read_text("utf-8", "replace").splitlines()
        return sum(int(line.split()[1]) * KILOBYTE for line in lines if line.startswith(COUNTED))
    return 0
