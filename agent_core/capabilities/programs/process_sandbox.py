"""Implements the sandbox port on a backend (bubblewrap, Docker): runs programs, and keeps those in the background."""

import asyncio
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.files.workspace_quota import WorkspaceQuota
from agent_core.capabilities.programs.bubblewrap import BubblewrapBackend
from agent_core.capabilities.programs.docker import IMAGE, DockerBackend
from agent_core.capabilities.programs.sandbox_self_test import find_escapes
from agent_core.capabilities.programs.supervisor import ProcessSupervisor, ignore_output
from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.providers.confinement.limits import LIMITS, ProgramLimits, SandboxBackend, user_for

FIRST_OUTPUT_SECONDS = 1.0  # wait for the first output of a background program
MAX_ENDED_LISTED = 4
EXIT_KILLED = 128 + 9
SHELL = ("/bin/sh", "-c")

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class BackgroundProcess:
    """A background program with its supervisor task."""

    record: Background
    supervisor: ProcessSupervisor
    task: "asyncio.Task[ProgramRun]"

    @property
    def state(self) -> Background:
        record = replace(self.record, output=self.supervisor.output.text)
        if not self.task.done():
            return record
        if self.task.cancelled():
            return replace(record, exit_code=EXIT_KILLED)
        if self.task.exception():
            return replace(record, output="", exit_code=EXIT_KILLED, ended_because="it could not be watched any more")
        run = self.task.result()
        return replace(record, output=run.output, exit_code=run.exit_code, ended_because=run.ended_because)

    async def wait_for_output(self, clock: Clock) -> None:
        """Wait for the first output, the end, or a timeout."""
        output = asyncio.ensure_future(self.supervisor.has_output.wait())
        timeout = asyncio.ensure_future(clock.sleep(FIRST_OUTPUT_SECONDS))
        try:
            await asyncio.wait([output, timeout, self.task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            output.cancel()
            timeout.cancel()

    async def end(self) -> Background:
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.supervisor.end()  # a task cancelled before its first step did not end it
        return self.state


@dataclass(slots=True, kw_only=True)
class ProcessSandbox:
    """Implements `Sandbox`. Every program runs through the backend, in the folder of its agent's workspace."""

    backend: SandboxBackend
    workspaces: FolderWorkspaces
    clock: Clock
    limits: ProgramLimits = LIMITS
    _background: dict[AgentId, list[BackgroundProcess]] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def self_test(self) -> str:
        if missing := await self.backend.find_missing():
            return f"The sandbox cannot be used, as {missing}"
        return await find_escapes(self._run_in_folder, self.workspaces.root)

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None] = ignore_output,
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        supervisor = await self._start_process(argv, self.workspaces.of(agent), sealed)
        return await supervisor.supervise(seconds, report)

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        self._require_slot(agent)
        supervisor = await self._start_process(argv, self.workspaces.of(agent))
        task = asyncio.create_task(supervisor.supervise(self.limits.background_seconds))
        task.add_done_callback(_log_fault)
        record = Background(key=f"p{next(self._numbers)}", line=_shown_command(argv), started_at=self.clock.now())
        running = BackgroundProcess(record=record, supervisor=supervisor, task=task)
        self._background.setdefault(agent.id, []).append(running)
        try:
            await running.wait_for_output(self.clock)
        except asyncio.CancelledError:
            await self.end(agent, record.key)
            raise
        return running.state

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        return tuple(running.state for running in self._background.get(agent.id, ()))

    def list_with_programs(self) -> tuple[AgentId, ...]:
        return tuple(
            agent_id
            for agent_id, programs in self._background.items()
            if any(not each.task.done() for each in programs)
        )

    async def end(self, agent: Agent, key: str) -> Background:
        running = next((each for each in self._background.get(agent.id, ()) if each.record.key == key), None)
        if running is None:
            raise CommandError(f"There is no program {key[:40]!r}: list_processes names those there are.")
        ended = await running.end()
        self._background[agent.id] = [each for each in self._background.get(agent.id, ()) if each is not running]
        return ended

    async def end_all(self, agent_id: AgentId) -> None:
        async with AsyncExitStack() as stack:
            for running in self._background.pop(agent_id, []):
                stack.push_async_callback(running.end)

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for agent_id in tuple(self._background):
                stack.push_async_callback(self.end_all, agent_id)

    async def _run_in_folder(self, argv: Sequence[str], folder: Path, seconds: float) -> ProgramRun:
        supervisor = await self._start_process(argv, FolderFiles(folder, self.workspaces.limits))
        return await supervisor.supervise(seconds)

    def _require_slot(self, agent: Agent) -> None:
        """Raise CommandError if too many background programs run; forget all but the last few that ended."""
        own = self._background.get(agent.id, [])
        running = [each for each in own if not each.task.done()]
        everywhere = sum(not each.task.done() for processes in self._background.values() for each in processes)
        if len(running) >= self.limits.background:
            keys = ", ".join(each.record.key for each in running)
            raise CommandError(f"{len(running)} programs run already ({keys}); end one with end_process first.")
        if everywhere >= self.limits.programs:
            raise CommandError("Too many programs of other agents run now. Try again later, or use execute_shell.")
        ended = [each for each in own if each.task.done()]
        for each in ended[: len(ended) - MAX_ENDED_LISTED + 1]:
            own.remove(each)

    async def _start_process(
        self, argv: Sequence[str], files: FolderFiles, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> ProcessSupervisor:
        quota = WorkspaceQuota(files.folder, files.limits)
        try:
            usage = await asyncio.to_thread(quota.hand_over, user_for(files.folder.name))
        except OSError as error:
            raise CommandError(f"The workspace cannot be used: {error.strerror}.") from None
        process = await self.backend.start(argv, files.folder, sealed)
        return ProcessSupervisor(
            process=process, quota=quota, limits=self.limits, clock=self.clock, allowed_usage=usage
        )


def _log_fault(task: "asyncio.Task[ProgramRun]") -> None:
    if not task.cancelled() and (fault := task.exception()):
        logger.error("program not watched any more", exc_info=fault)


def _shown_command(argv: Sequence[str]) -> str:
    """The command as a person would type it."""
    return argv[2] if tuple(argv[:2]) == SHELL else shlex.join(argv)


def bubblewrap_sandbox(
    workspaces: FolderWorkspaces, clock: Clock, data: Path, limits: ProgramLimits = LIMITS
) -> ProcessSandbox:
    """A sandbox with bubblewrap. `data` is the folder of the database, which programs must not see."""
    backend = BubblewrapBackend(data=data, file_bytes=workspaces.limits.file_bytes, limits=limits)
    return ProcessSandbox(backend=backend, workspaces=workspaces, clock=clock, limits=limits)


def docker_sandbox(
    workspaces: FolderWorkspaces,
    clock: Clock,
    data: Path,
    limits: ProgramLimits = LIMITS,
    image: str = IMAGE,
    *,
    is_shared: bool = False,
) -> ProcessSandbox:
    """A sandbox with Docker. `data`: a folder for copies of sealed files, which other processes use if `is_shared`."""
    file_bytes = workspaces.limits.file_bytes
    backend = DockerBackend(data=data, file_bytes=file_bytes, limits=limits, image=image, is_shared=is_shared)
    return ProcessSandbox(backend=backend, workspaces=workspaces, clock=clock, limits=limits)
