"""Supervises one sandboxed process: captures output, enforces limits, kills the process tree at the end."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from agent_core.capabilities.files.workspace_quota import WorkspaceQuota, WorkspaceUsage, summarise
from agent_core.capabilities.programs.program_output import ProgramOutput
from agent_core.model.files import ProgramRun
from agent_core.ports.clock import Clock
from agent_core.ports.database import finish_uncancelled
from agent_core.providers.confinement.limits import ProgramLimits, SandboxedProcess

CHUNK_BYTES = 65_536
MIN_WATCH_SECONDS, MAX_WATCH_SECONDS, REPORT_SECONDS = 0.25, 2.0, 1.0
WATCH_DUTY_FACTOR = 10  # watching takes at most 1/10 of the time, within the bounds above
SIGNAL_REASONS = {
    128 + 24: "it used more than {processor_seconds:,} seconds of processor time",  # SIGXCPU
    128 + 25: "a file that it wrote grew too long",  # SIGXFSZ
}


def ignore_output(_text: str) -> None:
    """A `report` callback that does nothing."""


@dataclass(slots=True, kw_only=True)
class ProcessSupervisor:
    """Supervises one process. `allowed_usage`: the workspace at the start, or at the last check within the limits."""

    process: SandboxedProcess
    quota: WorkspaceQuota
    limits: ProgramLimits
    clock: Clock
    allowed_usage: WorkspaceUsage
    output: ProgramOutput = field(default_factory=ProgramOutput)
    has_output: asyncio.Event = field(default_factory=asyncio.Event)

    async def supervise(self, seconds: float, report: Callable[[str], None] = ignore_output) -> ProgramRun:
        """Wait for the end, the timeout or an exceeded limit, then kill the process tree, also when cancelled."""
        why = ""
        try:
            why = await _run_until_first(
                self._capture_output(), self._time_out(seconds), self._watch_limits(), self._report_output(report)
            )
        finally:
            why = why or self.process.end_reason()
            code, cleared = await finish_uncancelled(self._end_and_clear())
        why = why or SIGNAL_REASONS.get(code, "").format(processor_seconds=self.limits.processor_seconds)
        return ProgramRun(exit_code=code, output=self.output.text, ended_because=cleared or why)

    async def end(self) -> int:
        """Kill the process tree and read its remaining output; return its exit code."""
        await self.process.kill()
        while chunk := await self.process.output.read(CHUNK_BYTES):
            self.output.add(chunk)
        return await self.process.wait_ended()

    async def _end_and_clear(self) -> tuple[int, str]:
        return await self.end(), await asyncio.to_thread(self._clear_workspace)

    async def _capture_output(self) -> str:
        while chunk := await self.process.output.read(CHUNK_BYTES):
            self.output.add(chunk)
            self.has_output.set()
            if self.output.total > self.limits.output_bytes:
                return f"it printed more than {self.limits.output_bytes:,} bytes"
        await self.process.wait_ended()
        return ""

    async def _time_out(self, seconds: float) -> str:
        await self.clock.sleep(seconds)
        return f"it ran for more than {seconds:,g} seconds"

    async def _watch_limits(self) -> str:
        """Check limits periodically, less often if a check is slow."""
        loop, pause = asyncio.get_running_loop(), MIN_WATCH_SECONDS
        while True:
            await self.clock.sleep(pause)
            began = loop.time()
            if why := await asyncio.to_thread(self._find_excess):
                return why
            pause = min(max(MIN_WATCH_SECONDS, WATCH_DUTY_FACTOR * (loop.time() - began)), MAX_WATCH_SECONDS)

    async def _report_output(self, report: Callable[[str], None]) -> str:
        reported = 0
        while True:
            await self.clock.sleep(REPORT_SECONDS)
            if self.output.total != reported:
                reported = self.output.total
                report(self.output.newest())

    def _find_excess(self) -> str:
        if why := self.process.exceeded_limit():
            return why
        with suppress(OSError):
            usage = self.quota.measure(self.allowed_usage)
            if usage.fault:
                return usage.fault
            self.allowed_usage = usage
        return ""

    def _clear_workspace(self) -> str:
        """Delete or truncate what exceeds the workspace's limits; return which limit and what was cleared.

        Return "" if no limit was exceeded.
        """
        with suppress(OSError):
            usage = self.quota.hand_over(allowed=self.allowed_usage)
            if usage.fault:
                cleared = self.quota.clear(self.allowed_usage)
                then = f"the newest data was cleared, which is {summarise(cleared)}" if cleared else "delete some of it"
                return f"{usage.fault}: {then}"
        return ""


async def _run_until_first(*steps: Coroutine[None, None, str]) -> str:
    """Run the steps concurrently until one ends; cancel the others and return its result."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(step) for step in steps]
        done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
    return next((task.result() for task in tasks if task in done and task.result()), "")
