"""Programs shut in by bubblewrap: namespaces of their own, the system read-only, a filter of calls, and limits.

Started by root they run as a user of their own, which depends on the workspace; by anybody else in a user namespace.
"""

import asyncio
import os
import platform
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.providers.sandbox.backend import FIRST_USER, LIMITS, NotStarted, ProgramLimits, user_for
from agent_core.providers.sandbox.bwrap_options import (
    ENDED_WITH_US,
    NAMESPACES,
    TO_BECOME,
    become,
    missing_tools,
    python_view,
    scratch_view,
    system_view,
    tool,
)
from agent_core.providers.sandbox.bwrap_process import BwrapProcess, start_bwrap
from agent_core.providers.sandbox.cgroup import Cgroup, Cgroups
from agent_core.providers.sandbox.interpreter import SHOWN, Interpreter
from agent_core.providers.sandbox.process_tree import tasks_of
from agent_core.providers.sandbox.seccomp import filtered

OLDEST = (0, 8)  # has --size and --disable-userns
COUNTED_APART = (5, 14)  # Linux counts processes of a user namespace by themselves from here on
NO_DUMP = 1  # not 0: core(5) says that a core piped to a program knows no limit, except this one
TOOLS = ("bwrap", "prlimit", "setpriv", "nice", "sh")
LAST = ("--remount-ro", "/dev", "--remount-ro", "/")
SPARE = 8  # processes of bubblewrap itself and of what starts it


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapBackend:
    """The command line of bubblewrap, and what has to be there for it.

    `data` is a folder that programs must never see, as the database lies in it.
    """

    data: Path
    file_bytes: int
    limits: ProgramLimits = LIMITS
    interpreter: Interpreter | None = field(default_factory=Interpreter.found)
    cgroups: Cgroups | None = field(default_factory=Cgroups.found)

    async def find_missing(self) -> str:
        """What keeps it from working on this machine."""
        if filtered() is None:
            return f"no filter of system calls is known for this processor ({platform.machine()}): use SANDBOX=docker."
        if self.interpreter is None:
            return "there is no Python that programs could run on. Install python3."
        shown = [path for path in (self.data, Path.cwd()) if path.resolve().is_relative_to(SHOWN)]
        if shown:
            return f"{shown[0]} lies in {SHOWN}, which programs can read. Move it elsewhere."
        if fault := missing_tools(TOOLS):
            return fault
        found = await _read_version(tool("bwrap"))
        if _version(found) < OLDEST:
            return f"{found or 'this bubblewrap'} is too old. Install 0.8 or newer, or set SANDBOX=docker."
        return ""

    def owner_of(self, name: str) -> int | None:
        """One user for each workspace, or this process's own in a user namespace."""
        return user_for(name)

    async def enter(
        self, argv: Sequence[str], folder: Path, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> BwrapProcess:
        """Start a program. Sealed files are copied into the sandbox from memory and lie nowhere on this machine."""
        calls, user = filtered(), self.owner_of(folder.name)
        if calls is None:
            raise NotStarted(await self.find_missing())
        made_up = {"/etc/" + name: text.encode() for name, text in _made_up(FIRST_USER if user is None else user)}
        made_up |= {f"/sealed/{path}": data for path, data in sealed.items()}
        with ExitStack() as held:
            files = [(path, held.enter_context(_written(data))) for path, data in made_up.items()]
            loaded = held.enter_context(_written(calls))
            options = [*self._confined(user), *self._seen(folder), "--seccomp", str(loaded)]
            for path, descriptor in files:
                options += ["--perms", "0644", "--ro-bind-data", str(descriptor), path]
            told = held.enter_context(_written("\0".join([*options, *LAST]).encode(errors="surrogateescape")))
            fds = (told, loaded, *(descriptor for _, descriptor in files))
            with self._grouped() as group:
                line = [*_through(group), *self._limited(), tool("bwrap"), "--args", str(told)]
                inside = ["--", *self._inside(user), *argv]
                captive = await start_bwrap(line, inside, fds=fds, limits=self.limits)
                captive.group = group
                return captive

    @contextmanager
    def _grouped(self) -> Iterator[Cgroup | None]:
        """A group for one program; given up when that cannot be started."""
        if self.cgroups is None:
            yield None
            return
        group = self.cgroups.make(self.limits.memory_bytes, self.limits.processes + SPARE)
        try:
            yield group
        except BaseException:
            group.remove()
            raise

    def _limited(self) -> list[str]:
        """What runs bubblewrap: last in line for the processors, and with limits that everything inside inherits."""
        limits = {
            "core": NO_DUMP,
            "as": self.limits.memory_bytes,
            "cpu": f"{self.limits.processor_seconds}:{self.limits.processor_seconds + 1}",
            "fsize": self.file_bytes,
            "nofile": self.limits.open_files,
        }
        return [tool("nice"), "-n", "10", tool("prlimit"), *(f"--{name}={most}" for name, most in limits.items())]

    def _confined(self, user: int | None) -> list[str]:
        if user is not None:
            return [*NAMESPACES, *TO_BECOME, *ENDED_WITH_US, "--hostname", "sandbox"]
        shown_as = str(FIRST_USER)
        own = ("--unshare-user", "--disable-userns", "--uid", shown_as, "--gid", shown_as, "--cap-drop", "ALL")
        return [*NAMESPACES, *own, *ENDED_WITH_US, "--hostname", "sandbox"]

    def _inside(self, user: int | None) -> list[str]:
        """What becomes the program: it sets the limit that only counts right in there."""
        most = self.limits.processes
        if user is None:
            most += 0 if _version(platform.release()) >= COUNTED_APART else tasks_of(os.getuid())
            return ["/usr/bin/prlimit", f"--nproc={most}", "--"]
        return [*become(user), "/usr/bin/prlimit", f"--nproc={most}", "--"]

    def _seen(self, folder: Path) -> Iterator[str]:
        """The files that programs see. What could grow is limited in size, and everything else read-only."""
        yield from system_view()
        yield from python_view(self.interpreter)
        yield from scratch_view(self.limits.scratch_bytes)
        yield from ("--bind", str(folder), "/workspace", "--chdir", "/workspace")


def _made_up(user: int) -> Iterator[tuple[str, str]]:
    """The few files below /etc that programs look into."""
    yield "passwd", f"root:x:0:0::/:/bin/sh\nagent:x:{user}:{user}::/tmp:/bin/sh\n"
    yield "group", f"root:x:0:\nagent:x:{user}:\n"
    yield "hosts", "127.0.0.1 localhost\n::1 localhost\n"


def _through(group: Cgroup | None) -> tuple[str, ...]:
    """What goes into the group before anything else is run, or runs nothing."""
    return ("/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"', str(group.entrance)) if group else ()


@contextmanager
def _written(data: bytes) -> Iterator[int]:
    """A descriptor from which the data can be read."""
    descriptor = os.memfd_create("signoff")
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


async def _read_version(program: str) -> str:
    process = await asyncio.create_subprocess_exec(program, "--version", stdout=PIPE, stderr=DEVNULL, env={})
    said, _ = await process.communicate()
    return said.decode(errors="replace").strip()


def _version(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
