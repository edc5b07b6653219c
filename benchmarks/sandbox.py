"""What shutting a program in costs: the time from asking for it to having its end, beside a plain subprocess."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox, bubblewrap_sandbox
from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.providers.clock import SystemClock

RUNS, WARM = 100, 5
PROMISE = 60.0
FILES = 1_000
LONGEST = 30.0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sandbox-") as folder:
        asyncio.run(measure(Path(folder)))


async def measure(data: Path) -> None:
    """Print the table and what became of the promise."""
    workspaces = FolderWorkspaces(data / "workspaces")
    sandbox, agent = bubblewrap_sandbox(workspaces, SystemClock(), data), an_agent()
    before = time.perf_counter()
    if problem := await sandbox.self_test():
        raise SystemExit(problem)
    _say(f"sandbox · milliseconds from start to end, {RUNS} runs each; tried before use in {_since(before):.0f} ms")
    _say(f"{'':<28}{'p50':>8}{'p95':>8}{'plain p50':>11}{'plain p95':>11}{'ratio':>8}{'more ms':>9}")
    start = await compare("/bin/true", sandbox, agent)
    await compare("python3 -c pass", sandbox, agent)
    for number in range(FILES):
        await workspaces.of(agent).write(f"folder-{number % 20}/{number}.txt", b"one of many")
    await compare("/bin/true", sandbox, agent, f" · {FILES:,} files")
    _say(f"promise: started and ended in at most 60 ms: {start:.1f} · {'met' if start <= PROMISE else 'NOT MET'}")


async def compare(line: str, sandbox: ProcessSandbox, agent: Agent, where: str = "") -> float:
    """Run a line in the sandbox and as it is, in turn; print both, and give the sandbox's median."""
    argv, shut_in, plain = line.split(), list[float](), list[float]()
    for number in range(WARM + RUNS):
        for found, act in ((shut_in, run_confined(sandbox, argv, agent)), (plain, run_unconfined(argv))):
            before = time.perf_counter()
            await act
            if number >= WARM:
                found.append(_since(before))
    figures = [figure for found in (shut_in, plain) for figure in (median(found), quantiles(found, n=20)[-1])]
    middle, _, least, _ = figures
    columns = "".join(f"{figure:>{width}.1f}" for figure, width in zip(figures, (8, 8, 11, 11), strict=True))
    _say(f"{line + where:<28}{columns}{middle / least:>7.1f}x{middle - least:>9.1f}")
    return middle


async def run_confined(sandbox: ProcessSandbox, argv: Sequence[str], agent: Agent) -> None:
    """Run it in the sandbox, to its end and the end of all it started."""
    run = await sandbox.run(argv, agent, seconds=LONGEST)
    if run.exit_code or run.ended_because:
        raise RuntimeError(f"The program failed: {run}")


async def run_unconfined(argv: Sequence[str]) -> None:
    """Run it as asyncio does."""
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    await process.communicate()


def an_agent() -> Agent:
    """Somebody whose workspace is used."""
    origin = Origin(by=Actor(id="ada", display="ada"), channel=ChannelScope("web", "local", "general"))
    return AgentDraft(name="Clerk", goals=("Calculate",)).tidied().made(origin, SystemClock().now())


def _since(before: float) -> float:
    return (time.perf_counter() - before) * 1000


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
