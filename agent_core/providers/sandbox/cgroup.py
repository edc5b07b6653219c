"""A control group for each program, where this process may make one: it counts memory that nothing else does.

Version 2 only, beside or below the group that this process is in.
"""

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

MOUNTED, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
NEEDED = frozenset({"memory", "pids"})
TRIED_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One group, for one program."""

    folder: Path

    @property
    def entrance(self) -> Path:
        """The file through which a process that writes 0 into it comes to be in the group."""
        return self.folder / "cgroup.procs"

    @property
    def ran_out(self) -> bool:
        """Whether a process in it was ended because memory ran out."""
        with suppress(OSError):
            told = dict(line.split() for line in (self.folder / "memory.events").read_text("utf-8").splitlines())
            return int(told.get("oom_kill", "0")) > 0
        return False

    def remove(self) -> None:
        """Give it up; one that still holds processes stays."""
        with suppress(OSError):
            self.folder.rmdir()


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where groups can be made."""

    parent: Path

    @classmethod
    def found(cls, mounted: Path = MOUNTED, own: Path = OWN) -> "Cgroups | None":
        """The place next to this process's own group, if groups there are limited and may be made; else None."""
        with suppress(OSError):
            lines = own.read_text("utf-8").splitlines()
            path = next((line[3:] for line in lines if line.startswith("0::")), "")
            place = (mounted / path.strip("/")).parent if path.strip("/") else mounted
            limited = set((place / "cgroup.subtree_control").read_text("utf-8").split())
            if limited >= NEEDED and ".." not in place.parts and cls(place).works():
                return cls(place)
        return None

    def works(self) -> bool:
        """Whether a process can be put into a group there: the kernel asks for rights on more than the group."""
        group = self.make(TRIED_BYTES, 1)
        try:
            line = ["/bin/sh", "-c", 'echo 0 > "$0"', str(group.entrance)]
            return subprocess.run(line, check=False, stderr=subprocess.DEVNULL).returncode == 0  # noqa: S603
        finally:
            group.remove()

    def make(self, memory_bytes: int, processes: int) -> Cgroup:
        """A group with these limits; raise OSError when it cannot be made."""
        made = Cgroup(self.parent / f"signoff-{uuid4().hex}")
        made.folder.mkdir()
        try:
            for name, value in _limits(memory_bytes, processes):
                (made.folder / name).write_text(value, "utf-8")
            with suppress(OSError):  # only where there is swap
                (made.folder / "memory.swap.max").write_text("0", "utf-8")
        except OSError:
            made.remove()
            raise
        return made


def _limits(memory_bytes: int, processes: int) -> tuple[tuple[str, str], ...]:
    return ("memory.max", str(memory_bytes)), ("memory.oom.group", "1"), ("pids.max", str(processes))
