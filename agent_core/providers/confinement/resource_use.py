"""What a sandboxed program uses, from /proc: memory, threads, socket buffers, inodes, deleted open files. Blocking."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
DEFAULT_BUFFERS = ("rmem_default", "wmem_default")  # of socket(7)
BUFFER_OVERSHOOT = 2  # a socket may hold one more message of its buffer's size
KIBIBYTE_BYTES = 1024
INODE, PATH = 4, 5  # fields of a line of /proc/PID/maps, proc(5)
COUNTED_FIELDS = ("RssAnon:", "RssShmem:")  # not RssFile: pages of programs and libraries are shared


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """The pids of some processes and of all their descendants."""

    processes: tuple[int, ...]

    @classmethod
    def below(cls, *roots: int) -> "ProcessTree":
        children: dict[int, list[int]] = defaultdict(list)
        for process, parent in _parents():
            children[parent].append(process)
        found = [*roots]
        for process in found:
            found += children[process]
        return cls(tuple(found))

    @property
    def memory(self) -> int:
        """Bytes of anonymous and shared memory; memory shared by several processes counts for each."""
        return sum(_memory(process) for process in self.processes)

    def count_deleted_files(self, within: str) -> int:
        """Number of files deleted in a folder that still occupy the disk because a process has them open or mapped."""
        return len({found for process in self.processes for found in _deleted(process, within)})


@dataclass(frozen=True, slots=True)
class SocketUse:
    """The socket buffers of a network namespace: memory that /proc counts for no process.

    `sockets`: the number of sockets, including those without a descriptor.
    `tcp`: the number of TCP sockets.
    `tcp_bytes`: bytes in TCP buffers of the whole machine: the kernel gives no number for a namespace.
    """

    sockets: int = 0
    tcp: int = 0
    tcp_bytes: int = 0

    @classmethod
    def of(cls, process: int) -> "SocketUse":
        """Read the sockets in the network namespace of this process; zeros if it has ended."""
        fields = {**_counts(process, "sockstat"), **_counts(process, "sockstat6")}
        tcp = sum(fields.get(name, {}).get("inuse", 0) for name in ("TCP", "TCP6"))
        taken = fields.get("TCP", {}).get("mem", 0) * PAGE_BYTES
        return cls(fields.get("sockets", {}).get("used", 0), tcp, taken)

    def max_bytes(self, tcp_before: int) -> int:
        """Upper bound of the bytes in buffers. `tcp_before`: the value of `tcp_bytes` before the program started."""
        tcp = max(self.tcp_bytes - tcp_before, 0) if self.tcp else 0
        return self.sockets * _largest_buffer() * BUFFER_OVERSHOOT + tcp


def count_inodes(root: int, *folders: str) -> int:
    """Number of inodes in use on the file systems of these folders, as the process `root` sees them."""
    total = 0
    for folder in folders:
        with suppress(OSError):
            fields = os.statvfs(f"{PROC}/{root}/root{folder}")
            total += fields.f_files - fields.f_ffree
    return total


def count_threads(user: int) -> int:
    """Number of threads of a user on this machine."""
    total = 0
    for process in _processes():
        with suppress(OSError):
            if (PROC / str(process)).stat().st_uid == user:
                total += len([*(PROC / str(process) / "task").iterdir()])
    return total


def _counts(process: int, file: str) -> dict[str, dict[str, int]]:
    """Parse a process's net/sockstat: `TCP: inuse 11 mem 31` becomes {"TCP": {"inuse": 11, "mem": 31}}."""
    with suppress(OSError, ValueError):
        lines = (PROC / str(process) / "net" / file).read_text("utf-8").splitlines()
        parts = [line.replace(":", " ").split() for line in lines]
        return {name: dict(zip(fields[::2], map(int, fields[1::2]), strict=True)) for name, *fields in parts}
    return {}


def _largest_buffer() -> int:
    """The default size of a socket buffer in bytes. The seccomp filter keeps programs from choosing another."""
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
            fields = (PROC / str(process) / "stat").read_text("utf-8", "replace")
            yield process, int(fields.rpartition(")")[2].split()[1])  # the name before may contain any character


def _memory(process: int) -> int:
    with suppress(OSError):
        lines = (PROC / str(process) / "status").read_text("utf-8", "replace").splitlines()
        return sum(int(line.split()[1]) * KIBIBYTE_BYTES for line in lines if line.startswith(COUNTED_FIELDS))
    return 0


def _deleted(process: int, within: str) -> Iterator[int]:
    """Inodes of the folder's deleted files that the process has open or mapped."""
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
