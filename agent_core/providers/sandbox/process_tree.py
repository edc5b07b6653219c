"""What a tree of processes holds, as /proc tells it. Blocking."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
DEFAULT_BUFFERS = ("rmem_default", "wmem_default")  # of socket(7)
SENT_AT_ONCE = 2  # what a socket holds may be over its size by one more message of that size
KILOBYTE = 1024
INODE, PATH = 4, 5  # of a line of /proc/…/maps, as proc(5) has it
COUNTED = ("RssAnon:", "RssShmem:")  # pages of programs and libraries are shared by all who run them


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """The processes that there were, from one of them down."""

    processes: tuple[int, ...]

    @classmethod
    def below(cls, root: int) -> "ProcessTree":
        """A process and all that it and its own started."""
        children: dict[int, list[int]] = defaultdict(list)
        for process, parent in _parents():
            children[parent].append(process)
        found = [root]
        for process in found:
            found += children[process]
        return cls(tuple(found))

    @property
    def memory(self) -> int:
        """Bytes that they hold, what several of them share counted for each."""
        return sum(_memory(process) for process in self.processes)

    def deleted_files(self, within: str) -> int:
        """How many files of a folder, as they see it, they hold though these were deleted: their blocks stay taken."""
        return len({found for process in self.processes for found in _deleted(process, within)})


@dataclass(frozen=True, slots=True)
class SocketUse:
    """What the sockets of a network namespace may hold in buffers, which counts as nobody's memory in /proc.

    `sockets` are all there are, also those that no descriptor stands for. `tcp_bytes` is what TCP holds on the whole
    machine, as the kernel tells it only so; it concerns who has TCP sockets (`tcp`).
    """

    sockets: int = 0
    tcp: int = 0
    tcp_bytes: int = 0

    @classmethod
    def of(cls, process: int) -> "SocketUse":
        """Of the namespace that a process is in; nothing where it has ended."""
        told = {**_counts(process, "sockstat"), **_counts(process, "sockstat6")}
        tcp = sum(told.get(name, {}).get("inuse", 0) for name in ("TCP", "TCP6"))
        taken = told.get("TCP", {}).get("mem", 0) * PAGE_BYTES
        return cls(told.get("sockets", {}).get("used", 0), tcp, taken)

    def most_bytes(self, tcp_before: int) -> int:
        """The most that they hold now, where TCP held that many bytes before there were any of them."""
        tcp = max(self.tcp_bytes - tcp_before, 0) if self.tcp else 0
        return self.sockets * _largest_buffer() * SENT_AT_ONCE + tcp


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


def _counts(process: int, file: str) -> dict[str, dict[str, int]]:
    """What /proc/net/sockstat says of each protocol: `TCP: inuse 11 mem 31` is {"TCP": {"inuse": 11, "mem": 31}}."""
    with suppress(OSError, ValueError):
        lines = (PROC / str(process) / "net" / file).read_text("utf-8").splitlines()
        parts = [line.replace(":", " ").split() for line in lines]
        return {name: dict(zip(told[::2], map(int, told[1::2]), strict=True)) for name, *told in parts}
    return {}


def _largest_buffer() -> int:
    """Bytes that a socket's buffer holds, as no program in the sandbox may choose another size."""
    sizes = [0]
    for name in DEFAULT_BUFFERS:
        with suppress(OSError, ValueError):
            sizes.append(int((PROC / "sys" / "net" / "core" / name).read_text("utf-8")))
    return max(sizes)


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


def _deleted(process: int, within: str) -> Iterator[int]:
    """Their inodes, of files that are open and of those that only memory is mapped to."""
    with suppress(OSError):
        for path in (PROC / str(process) / "fd").iterdir():
            with suppress(OSError):
                if _is_deleted(str(path.readlink()), within):
                    yield path.stat().st_ino
    with suppress(OSError):
        for line in (PROC / str(process) / "maps").read_text("utf-8", "replace").splitlines():
            parts = line.split(maxsplit=5)
            if len(parts) > PATH and _is_deleted(parts[PATH], within):
                yield int(parts[INODE])


def _is_deleted(path: str, within: str) -> bool:
    return path.startswith(f"{within}/") and path.endswith(" (deleted)")
