"""One process of bubblewrap and the tree inside it, from its start to the death of all of it."""

import asyncio
import errno
import json
import logging
import os
import signal
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO

from agent_core.errors import CommandError
from agent_core.providers.sandbox.backend import NotStarted, ProgramLimits
from agent_core.providers.sandbox.cgroup import Cgroup
from agent_core.providers.sandbox.process_tree import ProcessTree, SocketUse, scratch_files

TOO_LONG = "The command line is too long to be run."
# What bubblewrap says where something is forbidden, and what allows it.
ADVICE = (
    (
        "mount proc",
        "Start the container with --security-opt systempaths=unconfined, or set SANDBOX=docker.",
    ),
    (
        "namespace",
        "Allow namespaces: on Ubuntu sysctl kernel.apparmor_restrict_unprivileged_userns=0, on others sysctl "
        "kernel.unprivileged_userns_clone=1 or user.max_user_namespaces=10000; a container needs --cap-add SYS_ADMIN "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined. Or set SANDBOX=docker.",
    ),
    ("uid map", "Allow user namespaces: on Ubuntu sysctl kernel.apparmor_restrict_unprivileged_userns=0."),
)
SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108 - as seen inside
MOST_SAID, LONGEST_START = 500, 30.0

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class BwrapProcess:
    """A program inside. `first` is the tree's root, whose end is the end of all: the kernel sees to that.

    `status` is where bubblewrap writes how it went, which must be held open for it; `tcp_before` is what TCP held on
    this machine when it was started.
    """

    process: Process
    first: int
    handle: int
    status: FileIO
    limits: ProgramLimits
    group: Cgroup | None = None
    tcp_before: int = 0
    is_over: bool = False

    @property
    def output(self) -> StreamReader:
        """Both streams."""
        if self.process.stdout is None:
            raise LookupError("The program has no output.")
        return self.process.stdout

    async def wait_ended(self) -> int:
        """The program's exit code; what it left running is not waited for."""
        return _code(await self.process.wait())

    async def kill(self) -> None:
        """End the whole tree."""
        if self.is_over:
            return
        self.is_over = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        try:
            await wait_readable(self.handle)
        finally:
            os.close(self.handle)
            self.status.close()
            if self.group:
                self.group.remove()

    def fate(self) -> str:
        """Whether the system ended it, as memory ran out."""
        return self._too_much if self.group and self.group.ran_out else ""

    def excess(self) -> str:
        """What it uses too much of now, as far as nobody else counts it."""
        tree, limits = ProcessTree.below(self.first), self.limits
        if tree.deleted_files("/workspace") > limits.deleted_files:
            return f"it held more than {limits.deleted_files:,} files open that it had deleted"
        if self.group:
            return self.fate()
        if tree.memory + SocketUse.of(self.first).most_bytes(self.tcp_before) > limits.memory_bytes:
            return self._too_much
        if scratch_files(self.first, *SCRATCH) > limits.scratch_files:
            return f"it made more than {limits.scratch_files:,} files in /tmp or /dev/shm"
        return ""

    @property
    def _too_much(self) -> str:
        return f"it took more than {self.limits.memory_bytes:,} bytes of memory"


async def start_bwrap(
    line: Sequence[str], inside: Sequence[str], *, fds: Sequence[int], limits: ProgramLimits
) -> BwrapProcess:
    """Run bubblewrap by this line, and in it what follows; raise CommandError when it cannot be started."""
    starting = asyncio.ensure_future(_start(line, inside, fds, limits))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(CommandError):  # it takes milliseconds, and only then is it known what to end
            await (await starting).kill()
        raise


async def _start(line: Sequence[str], inside: Sequence[str], fds: Sequence[int], limits: ProgramLimits) -> BwrapProcess:
    """It waits inside until it is known what would have to be killed, and goes on then."""
    with _pipe() as (status, told), _pipe() as (waits, goes_on):
        links = ("--json-status-fd", str(told.fileno()), "--block-fd", str(waits.fileno()))
        process = await _process([*line, *links, *inside], (*fds, told.fileno(), waits.fileno()))
        told.close()
        with suppress(ValueError, KeyError, TypeError, OSError):
            async with asyncio.timeout(LONGEST_START):
                first = int(json.loads(await _line(status.fileno()))["child-pid"])
            kept = FileIO(os.dup(status.fileno()))
            captive = BwrapProcess(
                process=process, first=first, handle=os.pidfd_open(first), status=kept, limits=limits
            )
            captive.tcp_before = SocketUse.of(first).tcp_bytes
            goes_on.write(b"1")
            return captive
    raise NotStarted(await _why_not(process))


async def _process(line: Sequence[str], fds: Sequence[int]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *line, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env={}, cwd="/", pass_fds=tuple(fds)
        )
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            raise CommandError(TOO_LONG) from None
        logger.warning("sandbox not started", extra={"why": str(error)})
        raise NotStarted(str(error)) from None


@contextmanager
def _pipe() -> Iterator[tuple[FileIO, FileIO]]:
    reading, writing = os.pipe()
    with FileIO(reading, "rb") as read_end, FileIO(writing, "wb") as write_end:
        yield read_end, write_end


async def _why_not(process: Process) -> str:
    with suppress(ProcessLookupError):
        process.kill()
    said = await process.stdout.read() if process.stdout else b""
    await process.wait()
    why = " ".join(said.decode(errors="replace")[:MOST_SAID].split())
    logger.warning("sandbox not started", extra={"why": why})
    advice = next((advice for sign, advice in ADVICE if sign in why), "")
    return f"{why or 'bubblewrap ended without a word'} {advice}".strip()


async def _line(descriptor: int) -> bytes:
    """The first line that is written, or what there is when nothing more comes."""
    line = b""
    while not line.endswith(b"\n"):
        await wait_readable(descriptor)
        if not (more := os.read(descriptor, 4096)):
            break
        line += more
    return line


async def wait_readable(descriptor: int) -> None:
    """Wait until there is something to read, or the process that a descriptor stands for has ended."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def _code(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned
