"""The sandbox backend Docker: a container for each program, with gVisor if installed. It never pulls an image."""

import asyncio
import logging
import os
import shutil
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.providers.confinement.limits import LIMITS, NotStarted, ProgramLimits, user_for
from agent_core.providers.own_process import is_gone, own_process
from agent_core.providers.process_end import end_process

IMAGE = "python:3.12-slim"
GVISOR = "runsc"
LABEL, PROCESS_LABEL = "signoff.sandbox", "signoff.process"
PASSED_VARIABLES = (
    "PATH",
    "HOME",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)
ANSWER_TIMEOUT_SECONDS, RETRY_SECONDS, MAX_REMOVE_ATTEMPTS = 20.0, 1.0, 30
EXIT_DOCKER_FAILED, EXIT_KILLED = 125, 137  # https://docs.docker.com/reference/cli/docker/container/run/#exit-status
MARGIN_SECONDS = 60
SEALED_PREFIX = "sealed-"  # prefix of folders with copies of approved programs

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DockerProcess:
    """A program in a container. `client` is the `docker run` process, which prints its output."""

    client: Process
    name: str
    docker: "DockerBackend"
    sealed: "TemporaryDirectory[str] | None" = None
    is_killed: bool = False

    @property
    def output(self) -> StreamReader:
        if self.client.stdout is None:
            raise LookupError("The program has no output.")
        return self.client.stdout

    async def wait_ended(self) -> int:
        code = await self.client.wait()
        return code if code >= 0 else 128 - code

    async def kill(self) -> None:
        """Remove the container, even if Docker is still creating it."""
        if self.is_killed:
            return
        self.is_killed = True
        try:
            await self._remove()
        finally:
            if self.sealed:
                self.sealed.cleanup()

    async def _remove(self) -> None:
        for _ in range(MAX_REMOVE_ATTEMPTS):
            if self.client.returncode is not None:
                return
            await self.docker.ask("rm", "--force", self.name)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.client.wait(), RETRY_SECONDS)
        logger.warning("container not removed", extra={"container": self.name})
        with suppress(ProcessLookupError):
            self.client.kill()

    def end_reason(self) -> str:
        if self.client.returncode == EXIT_DOCKER_FAILED:
            return "Docker could not start it"
        most = self.docker.limits.memory_bytes
        return (
            f"it was killed, as what takes more than {most:,} bytes is" if self.client.returncode == EXIT_KILLED else ""
        )

    def exceeded_limit(self) -> str:
        """Always "": Docker enforces the limits."""
        return ""


@dataclass(slots=True, kw_only=True)
class DockerBackend:
    """Starts programs in Docker containers. `data`: the folder of the database.

    Containers are labelled with a hash of that folder's path and with their process, so that Signoffs on one machine do
    not remove each other's containers. `is_shared`: other processes may use the same folder.
    """

    data: Path
    file_bytes: int
    limits: ProgramLimits = LIMITS
    image: str = IMAGE
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    runtime: str = ""
    is_shared: bool = False

    async def find_missing(self) -> str:
        """What Docker lacks to run programs; "" if nothing is missing.

        If nothing is missing, remove the containers and sealed files that an earlier process left.
        """
        if shutil.which("docker", path=self.environ.get("PATH")) is None:
            return "docker is not installed. Install Docker, or use bubblewrap."
        code, output = await self.ask("info", "--format", "{{range $name, $_ := .Runtimes}}{{$name}} {{end}}")
        if code:
            return f"Docker does not answer: {output[-200:]}. Start it, or use bubblewrap."
        self.runtime = GVISOR if GVISOR in output.split() else ""
        if (await self.ask("image", "inspect", "--format", "{{.Id}}", self.image))[0]:
            return f"Docker has no image {self.image}. Fetch it: docker pull {self.image}"
        await self._remove_leftovers()
        return ""

    async def _remove_leftovers(self) -> None:
        """Remove what processes that ended have left. Containers end by themselves after an hour."""
        shown = f'{{{{.ID}}}} {{{{.Label "{PROCESS_LABEL}"}}}}'
        _, found = await self.ask("ps", "--all", "--format", shown, "--filter", f"label={LABEL}={self._owner}")
        containers = [line.partition(" ") for line in found.splitlines()]
        left = [name for name, _, process in containers if not self.is_shared or is_gone(process)]
        if left:
            await self.ask("rm", "--force", *left)
        for folder in () if self.is_shared else self.data.glob(f"{SEALED_PREFIX}*"):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def start(
        self, argv: Sequence[str], folder: Path, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> DockerProcess:
        """Start a container. Sealed files are copied into a folder that is deleted with the container."""
        name = f"signoff-{uuid4().hex}"
        copied = _copy_sealed(self.data, sealed) if sealed else None
        mounts = {folder: "/workspace:rw"} | ({Path(copied.name, "files"): "/sealed:ro"} if copied else {})
        try:
            client = await asyncio.create_subprocess_exec(
                *self._run_options(name, mounts, folder.name),
                *argv,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                env=self._environment,
                start_new_session=True,  # as for bubblewrap
            )
        except BaseException as error:
            if copied:
                copied.cleanup()
            if not isinstance(error, OSError | ValueError):
                raise
            logger.warning("sandbox not started", extra={"why": str(error)})
            raise NotStarted(str(error)) from None
        return DockerProcess(client=client, name=name, docker=self, sealed=copied)

    async def ask(self, *words: str) -> tuple[int, str]:
        """Run a short Docker command; return exit code and output."""
        try:
            process = await asyncio.create_subprocess_exec(
                "docker", *words, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=self._environment
            )
        except OSError as error:
            return 127, str(error)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), ANSWER_TIMEOUT_SECONDS)
        except TimeoutError:
            return 124, f"no answer after {ANSWER_TIMEOUT_SECONDS:.0f} seconds"
        finally:
            await end_process(process)
        return process.returncode or 0, output.decode(errors="replace").strip()

    @property
    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in self.environ.items() if name in PASSED_VARIABLES}

    @property
    def _owner(self) -> str:
        return sha256(str(self.data.resolve()).encode()).hexdigest()[:16]

    def _run_options(self, name: str, mounts: Mapping[Path, str], workspace: str) -> Iterator[str]:
        limits, user = self.limits, user_for(workspace)
        yield from ("docker", "run", "--rm", "--init", "--pull", "never", "--name", name)
        yield from ("--label", f"{LABEL}={self._owner}", "--label", f"{PROCESS_LABEL}={own_process()}")
        yield from ("--log-driver", "none")
        yield from ("--runtime", self.runtime) if self.runtime else ()
        yield from ("--network", "none", "--hostname", "sandbox", "--read-only", "--cap-drop", "ALL")
        yield from ("--security-opt", "no-new-privileges", "--ipc", "private")
        yield from ("--user", f"{user}:{user}" if user is not None else f"{os.getuid()}:{os.getgid()}")
        yield from ("--pids-limit", str(limits.processes), "--cpus", "1")
        yield from ("--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes))
        yield from ("--shm-size", str(limits.scratch_bytes))
        sizes = f"size={limits.scratch_bytes},nr_inodes={limits.scratch_files},mode=1777"
        yield from ("--tmpfs", f"/tmp:rw,nosuid,nodev,{sizes}")  # noqa: S108 - the container's own /tmp
        for limit, most in limits.rlimits(self.file_bytes).items():
            yield from ("--ulimit", f"{limit}={most}")
        yield from ("--env", "HOME=/tmp", "--env", "LANG=C.UTF-8")
        for folder, place in mounts.items():
            yield from ("--volume", f"{folder}:{place}")
        yield from ("--workdir", "/workspace", self.image)
        # A container survives the process that started it, so a timeout inside ends it.
        yield from ("timeout", "-s", "KILL", str(int(limits.background_seconds) + MARGIN_SECONDS))


def _copy_sealed(data: Path, sealed: Mapping[str, bytes]) -> "TemporaryDirectory[str]":
    """Copy the files to the folder `files` of a new temporary folder that other accounts cannot enter."""
    copied = TemporaryDirectory(prefix=SEALED_PREFIX, dir=data, ignore_cleanup_errors=True)
    top = Path(copied.name, "files")
    top.mkdir()
    for path, content in sealed.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(content)
    for each in (top, *top.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o444)
    return copied
