"""One bubblewrap process: starts it, waits until it is bound to Signoff, watches its limits, kills all of it."""

import asyncio
import errno
import json
import logging
import os
import re
import signal
from asyncio import StreamReader
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from agent_core.errors import CommandError
from agent_core.ports.database import finish_uncancelled
from agent_core.providers.clock import SystemClock
from agent_core.providers.confinement.cgroup import Cgroup
from agent_core.providers.confinement.limits import NotStarted, ProgramLimits
from agent_core.providers.confinement.resource_use import ProcessTree, SocketUse, count_inodes
from agent_core.providers.process_end import end_process

COMMAND_TOO_LONG = "The command line is too long to be run."
# Error messages of bubblewrap, and how to permit what it needs.
ADVICE = (
    (
        "mount proc",
        "Start the container with --security-opt systempaths=unconfined, or use Docker.",
    ),
    (
        "namespace",
        "Allow namespaces: on Ubuntu sysctl kernel.apparmor_restrict_unprivileged_userns=0, on others sysctl "
        "kernel.unprivileged_userns_clone=1 or user.max_user_namespaces=10000; a container needs --cap-add SYS_ADMIN "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined. Or use Docker.",
    ),
    ("uid map", "Allow user namespaces: on Ubuntu sysctl kernel.apparmor_restrict_unprivileged_userns=0."),
)
SCRATCH_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - as seen inside
MAX_ERROR_CHARACTERS, START_TIMEOUT_SECONDS, BOUND_SECONDS, FAULT_SECONDS = 500, 30.0, 0.0005, 1.0
FILTERS, FILTERED = re.compile(r"^Seccomp(?:_filters)?:\s*(\d+)$", re.MULTILINE), 2  # the mode, and how many
# The first command in the sandbox waits for a line, and ends if none comes, because Signoff was killed meanwhile. (When
# the descriptor of bubblewrap's own --block-fd is closed, the program begins, and nothing would ever end it.)
GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh")

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class BwrapProcess:
    """A sandboxed program. `root_pid` is the init process of its pid namespace: killing it kills the tree.

    `status`: the pipe to which bubblewrap writes its status. It must stay open.
    `tcp_before`: bytes in TCP buffers on this machine when the program started.
    """

    process: Process
    root_pid: int
    pidfd: int
    status: FileIO
    limits: ProgramLimits
    cgroup: Cgroup | None = None
    tcp_before: int = 0
    is_killed: bool = False

    @property
    def output(self) -> StreamReader:
        if self.process.stdout is None:
            raise LookupError("The program has no output.")
        return self.process.stdout

    async def wait_ended(self) -> int:
        code = await self.process.wait()
        return code if code >= 0 else 128 - code

    async def kill(self) -> None:
        if self.is_killed:
            return
        self.is_killed = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        try:
            await wait_readable(self.pidfd)
        finally:
            os.close(self.pidfd)
            self.status.close()
            if self.cgroup:
                self.cgroup.remove()

    def end_reason(self) -> str:
        return self._memory_exceeded if self.cgroup and self.cgroup.is_out_of_memory else ""

    def exceeded_limit(self) -> str:
        """Check what the kernel does not limit: the number of files that the program deleted but holds open.

        If there is no cgroup, check also memory, and the number of files in /tmp and /dev/shm.
        """
        tree, limits = ProcessTree.below(self.root_pid), self.limits
        if tree.count_deleted_files("/workspace") > limits.deleted_files:
            return f"it held more than {limits.deleted_files:,} files open that it had deleted"
        if self.cgroup:
            return self.end_reason()
        if tree.memory + SocketUse.of(self.root_pid).max_bytes(self.tcp_before) > limits.memory_bytes:
            return self._memory_exceeded
        if count_inodes(self.root_pid, *SCRATCH_FOLDERS) > limits.scratch_files:
            return f"it made more than {limits.scratch_files:,} files in /tmp or /dev/shm"
        return ""

    @property
    def _memory_exceeded(self) -> str:
        return f"it took more than {self.limits.memory_bytes:,} bytes of memory"


async def start_bwrap(
    line: Sequence[str], inside: Sequence[str], *, fds: Sequence[int], limits: ProgramLimits
) -> BwrapProcess:
    """Start bubblewrap by the command line `line`, and in its sandbox the command `inside`; raise CommandError.

    The command has nothing on its standard input.
    """
    starting = asyncio.ensure_future(_start(line, inside, fds, limits))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(CommandError):  # starting takes milliseconds, and then the process to kill is known
            await finish_uncancelled(_undo(starting))
        raise


async def _undo(starting: "asyncio.Future[BwrapProcess]") -> None:
    started = await starting
    await started.kill()
    await end_process(started.process)


async def _start(line: Sequence[str], inside: Sequence[str], fds: Sequence[int], limits: ProgramLimits) -> BwrapProcess:
    """Start bubblewrap. The program is blocked until it can be killed by its pid, and would end with Signoff."""
    with _pipe() as (status, status_writer), _pipe() as (gate, opener):
        whole = [*line, "--json-status-fd", str(status_writer.fileno()), "--", *GATE, *inside]
        process = await _process(whole, gate, (*fds, status_writer.fileno()))
        status_writer.close()
        with suppress(ValueError, KeyError, TypeError, OSError):
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                root_pid = int(json.loads(await _read_line(status.fileno()))["child-pid"])
                await _until_bound(root_pid)
            open_status = FileIO(os.dup(status.fileno()))
            bwrap = BwrapProcess(
                process=process, root_pid=root_pid, pidfd=os.pidfd_open(root_pid), status=open_status, limits=limits
            )
            bwrap.tcp_before = SocketUse.of(root_pid).tcp_bytes
            opener.write(b"go\n")
            return bwrap
    raise NotStarted(await _start_fault(process))


async def _until_bound(root_pid: int) -> None:
    """Wait until the sandbox's init process ends with bubblewrap, and so with Signoff.

    It sets this by prctl (PR_SET_PDEATHSIG) some time after its pid is known, just before its filter of system calls.
    """
    own = _read_status("self")
    while not has_more_filters(_read_status(str(root_pid)), own):
        await SystemClock().sleep(BOUND_SECONDS)


def _read_status(pid: str) -> str:
    return Path(f"/proc/{pid}/status").read_text("utf-8", "replace")


def has_more_filters(status: str, own: str) -> bool:
    """Whether a process has more filters of system calls than this one, by their `/proc/…/status`.

    Linux counts them since 5.9. An older one tells only whether there are any: if this process has some, as in a
    container, nothing can be told, and the answer is True.
    """
    counts, before = ([int(count) for count in FILTERS.findall(each)] for each in (status, own))
    return before == [FILTERED] or counts[-1:] > before[-1:]


async def _process(line: Sequence[str], gate: FileIO, fds: Sequence[int]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *line,
            stdin=gate,
            stdout=PIPE,
            stderr=STDOUT,
            env={},
            cwd="/",
            pass_fds=tuple(fds),
            start_new_session=True,  # Ctrl-C in a terminal is for Signoff, which lets the program go on for a while
        )
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            raise CommandError(COMMAND_TOO_LONG) from None
        logger.warning("sandbox not started", extra={"why": str(error)})
        raise NotStarted(str(error)) from None


@contextmanager
def _pipe() -> Iterator[tuple[FileIO, FileIO]]:
    reading, writing = os.pipe()
    with FileIO(reading, "rb") as read_end, FileIO(writing, "wb") as write_end:
        yield read_end, write_end


async def _start_fault(process: Process) -> str:
    with suppress(ProcessLookupError):
        process.kill()
    output = b""
    with suppress(TimeoutError):  # bubblewrap that was killed early leaves a process that holds the pipe open
        async with asyncio.timeout(FAULT_SECONDS):
            while process.stdout and (more := await process.stdout.read(MAX_ERROR_CHARACTERS)):
                output += more
    await end_process(process)
    why = " ".join(output.decode(errors="replace")[:MAX_ERROR_CHARACTERS].split())
    logger.warning("sandbox not started", extra={"why": why})
    advice = next((advice for sign, advice in ADVICE if sign in why), "")
    return f"{why or 'bubblewrap ended without an error message'} {advice}".strip()


async def _read_line(descriptor: int) -> bytes:
    """Read until the first line end or the end of the file."""
    line = b""
    while not line.endswith(b"\n"):
        await wait_readable(descriptor)
        if not (more := os.read(descriptor, 4096)):
            break
        line += more
    return line


async def wait_readable(descriptor: int) -> None:
    """Wait until the descriptor is readable. A pidfd becomes readable when its process ends."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
