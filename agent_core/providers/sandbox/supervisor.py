"""Seeing one program through: its output is taken, its limits are watched, and nothing of it is left at the end."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from agent_core.model.files import ProgramRun
from agent_core.ports.world import Clock
from agent_core.providers.sandbox.backend import ProgramLimits, SandboxedProcess
from agent_core.providers.sandbox.program_output import ProgramOutput
from agent_core.providers.sandbox.workspace_quota import WorkspaceQuota, WorkspaceUsage, in_short

CHUNK = 65_536
LOOKS_EVERY, LOOKS_AT_LEAST, TELLS_EVERY = 0.25, 2.0, 1.0
OF_THE_TIME = 10  # looking takes one part in so many, unless that would be too rare
STOPPED_BY = {
    128 + 24: "it used more than {processor_seconds:,} seconds of processor time",  # SIGXCPU
    128 + 25: "a file that it wrote grew too long",  # SIGXFSZ
}


def ignore_output(_text: str) -> None:
    """Where nobody watches."""


@dataclass(slots=True, kw_only=True)
class ProcessSupervisor:
    """A program that runs, from the start on. `kept` is the workspace as it was last found within its limits."""

    captive: SandboxedProcess
    premises: WorkspaceQuota
    limits: ProgramLimits
    clock: Clock
    kept: WorkspaceUsage
    output: ProgramOutput = field(default_factory=ProgramOutput)
    said_something: asyncio.Event = field(default_factory=asyncio.Event)

    async def attend(self, seconds: float, report: Callable[[str], None] = ignore_output) -> ProgramRun:
        """Wait for its end, or bring it about; cancelling ends the whole tree first."""
        why = cleared = ""
        try:
            why = await _first_of(self._listen(), self._wait(seconds), self._watch(), self._tell(report))
        finally:
            why = why or self.captive.fate()
            await self.captive.kill()
            await self._rest()
            code = await self.captive.wait_ended()
            cleared = await asyncio.to_thread(self._clear)
        why = why or STOPPED_BY.get(code, "").format(processor_seconds=self.limits.processor_seconds)
        return ProgramRun(exit_code=code, output=self.output.text, ended_because=cleared or why)

    async def _listen(self) -> str:
        """Take its output to the end, or to the most there may be."""
        while chunk := await self.captive.output.read(CHUNK):
            self.output.add(chunk)
            self.said_something.set()
            if self.output.total > self.limits.output_bytes:
                return f"it printed more than {self.limits.output_bytes:,} bytes"
        await self.captive.wait_ended()
        return ""

    async def _rest(self) -> None:
        """Take what was printed and not yet read; nobody prints any more."""
        while chunk := await self.captive.output.read(CHUNK):
            self.output.add(chunk)

    async def _wait(self, seconds: float) -> str:
        await self.clock.sleep(seconds)
        return f"it ran for more than {seconds:,g} seconds"

    async def _watch(self) -> str:
        """Look again and again; rarer where looking takes long."""
        loop, pause = asyncio.get_running_loop(), LOOKS_EVERY
        while True:
            await self.clock.sleep(pause)
            began = loop.time()
            if why := await asyncio.to_thread(self._excess):
                return why
            pause = min(max(LOOKS_EVERY, OF_THE_TIME * (loop.time() - began)), LOOKS_AT_LEAST)

    async def _tell(self, report: Callable[[str], None]) -> str:
        told = 0
        while True:
            await self.clock.sleep(TELLS_EVERY)
            if self.output.total != told:
                told = self.output.total
                report(self.output.newest())

    def _excess(self) -> str:
        if why := self.captive.excess():
            return why
        with suppress(OSError):
            held = self.premises.measured(self.kept)
            if held.fault:
                return held.fault
            self.kept = held
        return ""

    def _clear(self) -> str:
        """Delete what came to be over the limits and say so: a workspace stays one that can be used."""
        with suppress(OSError):
            held = self.premises.hand_over(allowed=self.kept)
            if held.fault:
                cleared = self.premises.clear(self.kept)
                then = f"the newest data was cleared, which is {in_short(cleared)}" if cleared else "delete some of it"
                return f"{held.fault}: {then}"
        return ""


async def _first_of(*acts: Coroutine[None, None, str]) -> str:
    """What the first of these gives that ends; the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(act) for act in acts]
        done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
    return next((task.result() for task in tasks if task in done and task.result()), "")
