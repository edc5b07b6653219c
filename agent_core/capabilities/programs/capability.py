"""The feature of programs: makes and tests the sandbox by the settings; offers the commands, or says why none runs."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.capabilities.capability import Capability, CommandParts, Finding
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.capabilities.programs.disabled import DisabledSandbox
from agent_core.capabilities.programs.settings import ProgramSettings
from agent_core.ports.clock import Clock
from agent_core.ports.sandbox import Sandbox
from agent_core.toolset.registry import Command

if TYPE_CHECKING:
    from agent_core.capabilities.programs.process_sandbox import ProcessSandbox

logger = logging.getLogger(__name__)
LONGEST_TEST = 30.0
IN_A_BUCKET = "the agents' files are in a bucket, and programs and plugins of AutoGPT run only in a folder"
USE_A_FOLDER = "Set WORKSPACE_URL to a folder of this machine, or to one that is mounted"
NOT_ALLOWED = "the operator allows no programs here (EXECUTE_LOCAL_COMMANDS)."
NO_FOLDER = f"{IN_A_BUCKET} (WORKSPACE_URL)."


@dataclass(kw_only=True)
class ProgramCapability(Capability):
    """`sandbox` runs programs, if `off` is ""; otherwise it says why none runs. Both are set by `open`.

    `confined`: makes the sandbox that the settings choose; None if the agents' files are in a bucket.
    `find_missing`: names the program that the sandbox needs and the machine lacks, or returns "".
    """

    name = "programs"
    settings: ProgramSettings
    confined: Callable[[], Sandbox] | None
    find_missing: Callable[[], str]
    off: str = NOT_ALLOWED
    sandbox: Sandbox = field(default_factory=lambda: DisabledSandbox(NOT_ALLOWED))

    @classmethod
    def of(
        cls, settings: ProgramSettings, clock: Clock, *, folder: Path | None, home: Path, is_shared: bool
    ) -> "ProgramCapability":
        """`folder`: of the agents' files, if it is none in a bucket; `is_shared`: by several processes."""

        def find_missing() -> str:
            from agent_core.capabilities.programs.bubblewrap import TOOLS
            from agent_core.providers.confinement.bwrap_options import missing_tools

            return missing_tools(TOOLS) if settings.sandbox == "bubblewrap" else ""

        confined = partial(confine, settings, clock, folder, home, is_shared=is_shared) if folder else None
        return cls(settings=settings, confined=confined, find_missing=find_missing)

    async def open(self) -> None:
        """Make the sandbox if programs are allowed, and test it first (1 to 2 s)."""
        if not self.settings.execute_local_commands:
            return
        self.off = NO_FOLDER
        if self.confined:
            self.sandbox = self.confined()
            self.off = await self._test(self.sandbox)
        if self.off:
            self.sandbox = DisabledSandbox(self.off)

    async def _test(self, sandbox: Sandbox) -> str:
        if fault := await sandbox.self_test():
            logger.error("no program of an agent will run", extra={"why": fault})
            return f"the sandbox (SANDBOX={self.settings.sandbox}) failed its self-test. {fault}"
        return ""

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return tuple(each.switched(self.off) for each in ProgramCommands(sandbox=self.sandbox).commands)

    async def findings(self) -> Iterable[Finding]:
        if not self.settings.execute_local_commands:
            return (self._not_allowed(),)
        if not self.confined:
            why = f"none will run: {IN_A_BUCKET}. {USE_A_FOLDER}"
            return (Finding(name="programs", state="fault", why=why, variable="WORKSPACE_URL"),)
        try:
            async with asyncio.timeout(LONGEST_TEST):
                fault = await self.confined().self_test()
        except TimeoutError:
            fault = f"The sandbox's test took longer than {LONGEST_TEST:.0f} seconds."
        if fault:
            return (Finding(name="programs", state="fault", why=f"none will run. {fault}", variable="SANDBOX"),)
        why = f"in {self.settings.sandbox}, which passed its self-test"
        return (Finding(name="programs", state="on", why=why, variable="EXECUTE_LOCAL_COMMANDS, SANDBOX"),)

    def _not_allowed(self) -> Finding:
        why = "agents cannot run programs; EXECUTE_LOCAL_COMMANDS=true lets them, in a sandbox without network"
        if missing := self.find_missing():
            why = f"{why}. The sandbox cannot run here: {missing}"
        if not self.confined:
            why = f"{why}. None would run now: {IN_A_BUCKET}. {USE_A_FOLDER}"
        return Finding(name="programs", state="off", why=why)

    async def close(self) -> None:
        await self.sandbox.close()


def confine(settings: ProgramSettings, clock: Clock, folder: Path, home: Path, *, is_shared: bool) -> "ProcessSandbox":
    """The sandbox that SANDBOX names (Docker or Bubblewrap), for workspaces in `folder`. Test it before use."""
    from agent_core.capabilities.programs.process_sandbox import bubblewrap_sandbox, docker_sandbox

    workspaces = FolderWorkspaces(folder)
    if settings.sandbox == "docker":
        return docker_sandbox(workspaces, clock, home, image=settings.sandbox_image, is_shared=is_shared)
    return bubblewrap_sandbox(workspaces, clock, home)
