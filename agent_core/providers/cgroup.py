"""A control group for each program, where this process may make one: it counts memory that nothing else does.

Version 2 only, beside or below the group that this process is in.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

MOUNTED, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
NEEDED = frozenset({"memory", "pids"})


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
            if limited >= NEEDED and place.is_relative_to(mounted) and _may_move_into(place):
                return cls(place)
        return None

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


def _may_move_into(place: Path) -> bool:
    """Whether processes may be moved between groups below it: the kernel asks for the common ancestor's file."""
    return os.access(place, os.W_OK) and os.access(place / "cgroup.procs", os.W_OK)
