"""The sandbox backend bubblewrap: composes its command line (namespaces, mounts, limits, filter) and starts programs.

If Signoff runs as root, programs run with a separate uid for each workspace; otherwise in a user namespace.
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
from agent_core.providers.confinement.bwrap_options import (
    NAMESPACES,
    PROCESS_OPTIONS,
    USER_SWITCH_CAPABILITIES,
    find_program,
    missing_tools,
    python_view,
    scratch_view,
    switch_user,
    system_view,
)
from agent_core.providers.confinement.bwrap_process import BwrapProcess, start_bwrap
from agent_core.providers.confinement.cgroup import Cgroup, Cgroups
from agent_core.providers.confinement.interpreter import USR, Interpreter
from agent_core.providers.confinement.limits import FIRST_USER, LIMITS, NotStarted, ProgramLimits, user_for
from agent_core.providers.confinement.resource_use import count_threads
from agent_core.providers.confinement.seccomp import build_filter
from agent_core.providers.process_end import end_process

MIN_BWRAP_VERSION = (0, 8)  # the first with --size and --disable-userns
MIN_KERNEL_FOR_USERNS_NPROC = (5, 14)  # since then Linux counts RLIMIT_NPROC for each user namespace
TOOLS = ("bwrap", "prlimit", "setpriv", "nice", "sh")
FINAL_OPTIONS = ("--remount-ro", "/dev", "--remount-ro", "/")
EXTRA_PROCESSES = 8  # bubblewrap and the shell that starts it
OWN_NETWORK = "--unshare-net"


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What one process gets besides what every program has.

    `mounts`: further options of bubblewrap. `fds`: descriptors that it inherits under the same numbers.
    `has_network`: whether it has the machine's network; otherwise it has one of its own, which leads nowhere.
    """

    mounts: Sequence[str] = ()
    fds: Sequence[int] = ()
    has_network: bool = False


NO_ADDITIONS = Additions()


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapBackend:
    """Starts programs with bubblewrap. `data`: the database's folder, which programs must not see."""

    data: Path
    file_bytes: int
    limits: ProgramLimits = LIMITS
    interpreter: Interpreter | None = field(default_factory=Interpreter.find)
    cgroups: Cgroups | None = field(default_factory=Cgroups.find)

    async def find_missing(self) -> str:
        if build_filter() is None:
            return f"no filter of system calls is known for this processor ({platform.machine()}): use Docker."
        if self.interpreter is None:
            return "there is no Python that programs could run on. Install python3."
        shown = [path for path in (self.data, Path.cwd()) if path.resolve().is_relative_to(USR)]
        if shown:
            return f"{shown[0]} lies in {USR}, which programs can read. Move it elsewhere."
        if fault := missing_tools(TOOLS):
            return fault
        found = await _read_version(find_program("bwrap"))
        if _version(found) < MIN_BWRAP_VERSION:
            return f"{found or 'this bubblewrap'} is too old. Install 0.8 or newer, or use Docker."
        return ""

    async def start(
        self,
        argv: Sequence[str],
        folder: Path,
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
        more: Additions = NO_ADDITIONS,
    ) -> BwrapProcess:
        """Start a program. Sealed files are passed as memory files (memfd), not through the disk."""
        seccomp_filter, user = build_filter(), user_for(folder.name)
        if seccomp_filter is None:
            raise NotStarted(await self.find_missing())
        etc_files = {"/etc/" + name: text.encode() for name, text in _etc_files(FIRST_USER if user is None else user)}
        etc_files |= {f"/sealed/{path}": data for path, data in sealed.items()}
        with ExitStack() as held:
            files = [(path, held.enter_context(_memory_file(data))) for path, data in etc_files.items()]
            seccomp_fd = held.enter_context(_memory_file(seccomp_filter))
            options = [
                *self._namespace_options(user),
                *self._mounts(folder),
                *more.mounts,
                "--seccomp",
                str(seccomp_fd),
            ]
            if more.has_network:
                options.remove(OWN_NETWORK)
            for path, descriptor in files:
                options += ["--perms", "0644", "--ro-bind-data", str(descriptor), path]
            args_fd = held.enter_context(
                _memory_file("\0".join([*options, *FINAL_OPTIONS]).encode(errors="surrogateescape"))
            )
            fds = (args_fd, seccomp_fd, *(descriptor for _, descriptor in files), *more.fds)
            with self._new_cgroup() as cgroup:
                line = [*_join_cgroup(cgroup), *self._limits_prefix(), find_program("bwrap"), "--args", str(args_fd)]
                inside = [*self._inner_prefix(user), *argv]
                process = await start_bwrap(line, inside, fds=fds, limits=self.limits)
                process.cgroup = cgroup
                return process

    @contextmanager
    def _new_cgroup(self) -> Iterator[Cgroup | None]:
        """A cgroup for one program, or None if there are none here. It is removed if the with-block raises."""
        if self.cgroups is None:
            yield None
            return
        cgroup = self.cgroups.create(self.limits.memory_bytes, self.limits.processes + EXTRA_PROCESSES)
        try:
            yield cgroup
        except BaseException:
            cgroup.remove()
            raise

    def _limits_prefix(self) -> list[str]:
        """Command prefix: low CPU priority, and rlimits that everything inside inherits."""
        limits = {**self.limits.rlimits(self.file_bytes), "as": self.limits.memory_bytes}
        prlimit = (find_program("prlimit"), *(f"--{name}={most}" for name, most in limits.items()))
        return [find_program("nice"), "-n", "10", *prlimit]

    def _namespace_options(self, user: int | None) -> list[str]:
        if user is not None:
            return [*NAMESPACES, *USER_SWITCH_CAPABILITIES, *PROCESS_OPTIONS, "--hostname", "sandbox"]
        shown_as = str(FIRST_USER)
        own = ("--unshare-user", "--disable-userns", "--uid", shown_as, "--gid", shown_as, "--cap-drop", "ALL")
        return [*NAMESPACES, *own, *PROCESS_OPTIONS, "--hostname", "sandbox"]

    def _inner_prefix(self, user: int | None) -> list[str]:
        """Command prefix inside the sandbox: switches the user and sets RLIMIT_NPROC."""
        most = self.limits.processes
        if user is None:
            most += 0 if _version(platform.release()) >= MIN_KERNEL_FOR_USERNS_NPROC else count_threads(os.getuid())
            return ["/usr/bin/prlimit", f"--nproc={most}", "--"]
        return [*switch_user(user), "/usr/bin/prlimit", f"--nproc={most}", "--"]

    def _mounts(self, folder: Path) -> Iterator[str]:
        """Mount options: system read-only, scratch folders with a size limit, workspace read-write."""
        yield from system_view()
        yield from python_view(self.interpreter)
        yield from scratch_view(self.limits.scratch_bytes)
        yield from ("--bind", str(folder), "/workspace", "--chdir", "/workspace")


def _etc_files(user: int) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is generated in /etc."""
    yield "passwd", f"root:x:0:0::/:/bin/sh\nagent:x:{user}:{user}::/tmp:/bin/sh\n"
    yield "group", f"root:x:0:\nagent:x:{user}:\n"
    yield "hosts", "127.0.0.1 localhost\n::1 localhost\n"


def _join_cgroup(cgroup: Cgroup | None) -> tuple[str, ...]:
    """Command prefix that joins the cgroup before anything else runs."""
    return ("/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"', str(cgroup.procs_file)) if cgroup else ()


@contextmanager
def _memory_file(data: bytes) -> Iterator[int]:
    """A memory file (memfd) with the data, positioned at its start."""
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
    try:
        output, _ = await process.communicate()
    finally:
        await end_process(process)
    return output.decode(errors="replace").strip()


def _version(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
