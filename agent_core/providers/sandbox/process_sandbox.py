"""Programs of agents in a sandbox: those that are waited for, and those that agents leave running."""

import asyncio
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.ports.world import Clock
from agent_core.providers.sandbox.backend import LIMITS, ProgramLimits, SandboxBackend
from agent_core.providers.sandbox.bubblewrap import BubblewrapBackend
from agent_core.providers.sandbox.docker import IMAGE, DockerBackend
from agent_core.providers.sandbox.sandbox_self_test import find_escapes
from agent_core.providers.sandbox.supervisor import ProcessSupervisor, ignore_output
from agent_core.providers.sandbox.workspace_quota import WorkspaceQuota
from agent_core.providers.workspace.folder_workspace import FolderFiles, FolderWorkspaces

FIRST_WORDS = 1.0  # seconds that a program left running has to say something before its agent goes on
MOST_TOLD_ENDED = 4
KILLED = 128 + 9
SHELL = ("/bin/sh", "-c")

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class BackgroundProcess:
    """A program that was left running, and the task that sees it through."""

    told: Background
    attended: ProcessSupervisor
    task: "asyncio.Task[ProgramRun]"

    @property
    def now(self) -> Background:
        """How it stands."""
        if not self.task.done():
            return replace(self.told, output=self.attended.output.text)
        if self.task.cancelled():
            return replace(self.told, output=self.attended.output.text, exit_code=KILLED)
        if self.task.exception():
            return replace(self.told, exit_code=KILLED, ended_because="it could not be watched any more")
        run = self.task.result()
        return replace(self.told, output=run.output, exit_code=run.exit_code, ended_because=run.ended_because)

    async def first_words(self, clock: Clock) -> None:
        """Wait until it has said something, has ended, or was silent for a moment."""
        said = asyncio.ensure_future(self.attended.said_something.wait())
        silent = asyncio.ensure_future(clock.sleep(FIRST_WORDS))
        try:
            await asyncio.wait([said, silent, self.task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            said.cancel()
            silent.cancel()

    async def end(self) -> Background:
        """End it, if it still runs."""
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.attended.captive.kill()  # a task that was cancelled before it began has not done so
        return self.now


@dataclass(slots=True, kw_only=True)
class ProcessSandbox:
    """The Sandbox: every program goes through the confinement, and there is no other way to run one."""

    confinement: SandboxBackend
    workspaces: FolderWorkspaces
    clock: Clock
    limits: ProgramLimits = LIMITS
    _left: dict[AgentId, list[BackgroundProcess]] = field(default_factory=dict)
    _keys: "count[int]" = field(default_factory=lambda: count(1))

    async def self_test(self) -> str:
        """Try to break out; "" when nothing got through."""
        if missing := await self.confinement.find_missing():
            return f"Programs cannot be run, as {missing}"
        return await find_escapes(self._try, self.workspaces.root)

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None] = ignore_output,
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        """Run a program to its end."""
        attended = await self._start_process(argv, self.workspaces.of(agent), sealed)
        return await attended.attend(seconds, report)

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Start a program that goes on by itself; give what it says at once."""
        self._make_room(agent)
        attended = await self._start_process(argv, self.workspaces.of(agent))
        task = asyncio.create_task(attended.attend(self.limits.background_seconds))
        task.add_done_callback(_log_fault)
        told = Background(key=f"p{next(self._keys)}", line=_line(argv), started_at=self.clock.now())
        running = BackgroundProcess(told=told, attended=attended, task=task)
        self._left.setdefault(agent.id, []).append(running)
        try:
            await running.first_words(self.clock)
        except asyncio.CancelledError:
            await self.end(agent, told.key)
            raise
        return running.now

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """What the agent started, oldest first."""
        return tuple(running.now for running in self._left.get(agent.id, ()))

    async def end(self, agent: Agent, key: str) -> Background:
        """End one, and forget it."""
        running = next((each for each in self._left.get(agent.id, ()) if each.told.key == key), None)
        if running is None:
            raise CommandError(f"There is no program {key[:40]!r}: list_processes names those there are.")
        ended = await running.end()
        self._left[agent.id] = [each for each in self._left.get(agent.id, ()) if each is not running]
        return ended

    async def end_all(self, agent_id: AgentId) -> None:
        """End whatever the agent runs, and forget it."""
        for running in self._left.pop(agent_id, []):
            await running.end()

    async def close(self) -> None:
        """End whatever runs."""
        for agent_id in tuple(self._left):
            await self.end_all(agent_id)

    async def _try(self, argv: Sequence[str], folder: Path, seconds: float) -> ProgramRun:
        attended = await self._start_process(argv, FolderFiles(folder, self.workspaces.limits))
        return await attended.attend(seconds)

    def _make_room(self, agent: Agent) -> None:
        """Forget the oldest of those that ended; raise CommandError where too many run."""
        own = self._left.get(agent.id, [])
        running = [each for each in own if not each.task.done()]
        everywhere = sum(not each.task.done() for left in self._left.values() for each in left)
        if len(running) >= self.limits.background:
            keys = ", ".join(each.told.key for each in running)
            raise CommandError(f"{len(running)} programs run already ({keys}); end one with end_process first.")
        if everywhere >= self.limits.programs:
            raise CommandError("Too many programs of other agents run now. Try again later, or use execute_shell.")
        ended = [each for each in own if each.task.done()]
        for each in ended[: len(ended) - MOST_TOLD_ENDED + 1]:
            own.remove(each)

    async def _start_process(
        self, argv: Sequence[str], files: FolderFiles, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> ProcessSupervisor:
        premises = WorkspaceQuota(files.folder, files.limits)
        try:
            kept = await asyncio.to_thread(premises.hand_over, self.confinement.owner_of(files.folder.name))
        except OSError as error:
            raise CommandError(f"The workspace cannot be used: {error.strerror}.") from None
        captive = await self.confinement.enter(argv, files.folder, sealed)
        return ProcessSupervisor(captive=captive, premises=premises, limits=self.limits, clock=self.clock, kept=kept)


def _log_fault(task: "asyncio.Task[ProgramRun]") -> None:
    if not task.cancelled() and (fault := task.exception()):
        logger.error("program not watched any more", exc_info=fault)


def _line(argv: Sequence[str]) -> str:
    """What was started, as a person would type it."""
    return argv[2] if tuple(argv[:2]) == SHELL else shlex.join(argv)


def bubblewrap_sandbox(
    workspaces: FolderWorkspaces, clock: Clock, data: Path, limits: ProgramLimits = LIMITS
) -> ProcessSandbox:
    """A sandbox of bubblewrap; `data` is the folder with the database, which must not be where programs can read."""
    confinement = BubblewrapBackend(data=data, file_bytes=workspaces.limits.file_bytes, limits=limits)
    return ProcessSandbox(confinement=confinement, workspaces=workspaces, clock=clock, limits=limits)


def docker_sandbox(
    workspaces: FolderWorkspaces, clock: Clock, data: Path, limits: ProgramLimits = LIMITS, image: str = IMAGE
) -> ProcessSandbox:
    """A sandbox of containers; `data` tells this Signoff's from those of others on the same machine."""
    confinement = DockerBackend(data=data, file_bytes=workspaces.limits.file_bytes, limits=limits, image=image)
    return ProcessSandbox(confinement=confinement, workspaces=workspaces, clock=clock, limits=limits)
