"""The real program as an operator starts it: a process with a folder, a port and an environment of its own."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from adapters.web.guard import USER
from bot.private_files import page_key
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
LONGEST_STOP = 20.0  # platforms kill what has not ended 30 seconds after it was told to


@dataclass(slots=True, kw_only=True)
class Program:
    """A program that runs. What it writes, to either stream, is kept as `lines`."""

    process: Process
    address: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        """All it has said so far, for the reader of a failed test."""
        return "".join(self.lines)

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        assert await self.ended() == -signal.SIGKILL

    async def stop(self) -> None:
        """Tell it to end, as an operator or a platform does, and hold it to doing so soon and in order."""
        self.send(signal.SIGTERM)
        assert await self.ended(LONGEST_STOP) == 0, self.output

    async def interrupt(self) -> None:
        """Send what Ctrl-C in a terminal sends, to all processes of its group, and hold it to ending in order."""
        os.killpg(self.process.pid, signal.SIGINT)
        assert await self.ended(LONGEST_STOP) == 0, self.output

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended. asyncio's own way may take the exit code from asyncio's other half."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    async def ended(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for its end and give its exit code."""
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def says(self, text: str) -> None:
        """Read what it writes up to a line that holds this."""
        assert self.process.stdout
        while line := (await self.process.stdout.readline()).decode():
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"It ended without saying {text!r}:\n{self.output}")

    async def listen(self) -> None:
        """Read on to its end, so that it is never held up by what it writes."""
        assert self.process.stdout
        async for line in self.process.stdout:
            self.lines.append(line.decode())


@asynccontextmanager
async def program(folder: Path, module: str = "bot", **environ: str) -> AsyncIterator[Program]:
    """`python -m bot run` in this folder, from the moment its page is served; nothing of it is left at the end."""
    async with serving(folder, "run", module, **environ) as started:
        yield started


@asynccontextmanager
async def serving(folder: Path, command: str, module: str = "bot", **environ: str) -> AsyncIterator[Program]:
    """A command that serves pages. PORT is a free one unless `environ` names it."""
    given = {"PORT": str(free_port()), **environ}
    async with running(folder, module, command, **given) as started:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await started.says("Signoff is at ")
        started.address = started.lines[-1].split()[3]
        if "with its key" in started.lines[-1]:  # a log does not get it
            key = page_key(folder / environ.get("SIGNOFF_HOME", ".signoff"))
            started.address = started.address.replace("://", f"://{USER}:{key}@")
        yield started


@asynccontextmanager
async def running(
    folder: Path, *arguments: str, python: str | Path = sys.executable, **environ: str
) -> AsyncIterator[Program]:
    """`python -m …` with nothing of the developer's own surroundings."""
    if environ.get("EXECUTE_LOCAL_COMMANDS") == "true":
        need(*SANDBOX)
    process = await asyncio.create_subprocess_exec(
        python,
        "-m",
        *arguments,
        cwd=folder,
        env=clean(folder, environ),
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,  # so that a test can signal its process group
    )
    started = Program(process=process)
    try:
        yield started
    finally:
        started.send(signal.SIGKILL)
        await process.wait()
        await started.listen()


def clean(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process: where programs and this code are, and what is given."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **environ}


def keyed(folder: Path, port: int | str) -> str:
    """The address of a page that was started in this folder, with its key, as people open it."""
    return f"http://{USER}:{page_key(folder / '.signoff')}@127.0.0.1:{port}"


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
