"""What shutting a program in costs: the time from asking for it to having its end, beside a plain subprocess."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.people import Actor, Origin
from agent_core.model.places import ChannelScope
from agent_core.providers.clock import SystemClock
from agent_core.providers.files import FolderWorkspaces
from agent_core.providers.sandbox import ConfinedSandbox, bubblewrap_sandbox

RUNS, WARM = 100, 5
PROMISE = 60.0
FILES = 1_000
LONGEST = 30.0
PROGRAMS = {"/bin/true": ("/bin/true",), "python3 -c pass": ("python3", "-c", "pass")}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sandbox-") as folder:
        asyncio.run(measured(Path(folder)))


async def measured(data: Path) -> None:
    """Print the table and what became of the promise."""
    workspaces = FolderWorkspaces(data / "workspaces")
    sandbox, agent = bubblewrap_sandbox(workspaces, SystemClock(), data), an_agent()
    before = time.perf_counter()
    if fault := await sandbox.self_test():
        raise SystemExit(fault)
    _say(f"sandbox · milliseconds from start to end, {RUNS} runs each; tried before use in {_since(before):.0f} ms")
    _say(f"{'':<36}{'p50':>8}{'p95':>8}{'plain p50':>11}{'ratio':>8}")
    most = 0.0
    for name, argv in PROGRAMS.items():
        plain = await times(partial(unconfined, argv))
        most = max(most, row(name, await times(partial(confined, sandbox, argv, agent)), median(plain)))
    plain = await times(partial(unconfined, ("/bin/true",)))
    for number in range(FILES):
        await workspaces.of(agent).write(f"folder-{number % 20}/{number}.txt", b"one of many")
    row(f"/bin/true · {FILES:,} files", await times(partial(confined, sandbox, ("/bin/true",), agent)), median(plain))
    _say(f"promise: started and ended in at most 60 ms: {most:.1f} · {'met' if most <= PROMISE else 'NOT MET'}")


async def times(act: Callable[[], Awaitable[None]]) -> list[float]:
    """Milliseconds of each run, once caches are warm."""
    for _ in range(WARM):
        await act()
    found = []
    for _ in range(RUNS):
        before = time.perf_counter()
        await act()
        found.append(_since(before))
    return found


async def confined(sandbox: ConfinedSandbox, argv: Sequence[str], agent: Agent) -> None:
    """Run it in the sandbox, to its end and the end of all it started."""
    run = await sandbox.run(argv, agent, seconds=LONGEST)
    if run.exit_code or run.ended_because:
        raise RuntimeError(f"The program failed: {run}")


async def unconfined(argv: Sequence[str]) -> None:
    """Run it as asyncio does."""
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    await process.communicate()


def row(name: str, found: Sequence[float], plain: float) -> float:
    """Print one line and give its median."""
    middle = median(found)
    _say(f"{name:<36}{middle:>8.1f}{quantiles(found, n=20)[-1]:>8.1f}{plain:>11.1f}{middle / plain:>7.1f}x")
    return middle


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
