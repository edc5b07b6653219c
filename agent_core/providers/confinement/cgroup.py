"""Creates a cgroup (version 2) for each program, to limit memory and processes, if this process has the right to."""

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

CGROUP_ROOT, OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
REQUIRED_CONTROLLERS = frozenset({"memory", "pids"})
PROBE_MEMORY_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The cgroup of one program."""

    folder: Path

    @property
    def procs_file(self) -> Path:
        """A process that writes 0 to this file joins the cgroup."""
        return self.folder / "cgroup.procs"

    @property
    def is_out_of_memory(self) -> bool:
        """Whether the OOM killer ended a process of the cgroup."""
        with suppress(OSError):
            counters = dict(line.split() for line in (self.folder / "memory.events").read_text("utf-8").splitlines())
            return int(counters.get("oom_kill", "0")) > 0
        return False

    def remove(self) -> None:
        """Delete the cgroup, unless it has processes."""
        with suppress(OSError):
            self.folder.rmdir()


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Creates cgroups below `parent`."""

    parent: Path

    @classmethod
    def find(cls, mounted: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> "Cgroups | None":
        """Use the parent of this process's own cgroup, if cgroups with limits can be created there; else None."""
        with suppress(OSError):
            lines = own.read_text("utf-8").splitlines()
            path = next((line[3:] for line in lines if line.startswith("0::")), "")
            parent = (mounted / path.strip("/")).parent if path.strip("/") else mounted
            controllers = set((parent / "cgroup.subtree_control").read_text("utf-8").split())
            if controllers >= REQUIRED_CONTROLLERS and ".." not in parent.parts and cls(parent).is_usable():
                return cls(parent)
        return None

    def is_usable(self) -> bool:
        """Whether a process can join a cgroup below `parent`; a probe process tries it.

        This needs write access to the common ancestor of its present cgroup and the new one.
        """
        group = self.create(PROBE_MEMORY_BYTES, 1)
        try:
            line = ["/bin/sh", "-c", 'echo 0 > "$0"', str(group.procs_file)]
            return subprocess.run(line, check=False, stderr=subprocess.DEVNULL).returncode == 0  # noqa: S603
        finally:
            group.remove()

    def create(self, memory_bytes: int, processes: int) -> Cgroup:
        """A new cgroup with these limits; raise OSError."""
        cgroup = Cgroup(self.parent / f"signoff-{uuid4().hex}")
        cgroup.folder.mkdir()
        try:
            for name, value in (("memory.max", memory_bytes), ("memory.oom.group", 1), ("pids.max", processes)):
                (cgroup.folder / name).write_text(str(value), "utf-8")
            with suppress(OSError):  # exists only with swap
                (cgroup.folder / "memory.swap.max").write_text("0", "utf-8")
        except OSError:
            cgroup.remove()
            raise
        return cgroup
