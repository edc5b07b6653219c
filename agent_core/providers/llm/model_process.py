"""A model's file served by a process of its own on this machine, from its start to its end.

A process and no thread: a fault of native code ends the model and not its agents, its memory is given back whole, and a
start that takes minutes can be ended at once.
"""

import asyncio
import json
import os
import re
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.errors import ModelRefused

SERVER = Path(__file__).with_name("model_server.py")
LONGEST_START, LONGEST_END = 300.0, 3.0
MOST_KEPT, MOST_TOLD = 8_000, 200
CHUNK = 4_096
# No key that Signoff was given goes to native code that reads somebody else's file.
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
FAMILIES = ("GGML_", "OMP_", "CUDA_", "HIP_", "VK_")
REASON = re.compile(r"error loading model: (.+)")  # llama.cpp's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """What is to be served: a file as the model `name`, with a window of `context` tokens, to whoever shows `key`."""

    path: Path
    name: str
    context: int
    threads: int
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def line(self) -> bytes:
        """The same as the process reads it."""
        sizes = {"context": self.context, "threads": self.threads}
        return json.dumps({"path": str(self.path), "name": self.name, "key": self.key, **sizes}).encode() + b"\n"


@dataclass(slots=True, kw_only=True)
class ModelProcess:
    """The process; `server` is the script that it runs."""

    served: ServedModel
    server: Path = SERVER
    longest_start: float = LONGEST_START
    longest_end: float = LONGEST_END
    _process: Process | None = field(default=None, init=False, repr=False)
    _listening: "asyncio.Task[None] | None" = field(default=None, init=False, repr=False)
    _said: bytes = field(default=b"", init=False, repr=False)

    @property
    def has_ended(self) -> bool:
        """Whether it ran and does not any more."""
        return self._process is not None and self._process.returncode is not None

    async def start(self) -> str:
        """Load the model and give its address; raise ModelRefused with the reason when that cannot be done."""
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(self.server)),
            stdin=PIPE, stdout=PIPE, stderr=PIPE, env=passed_on(os.environ),
            start_new_session=True,  # Ctrl-C is for Signoff, which then ends this process
        )  # fmt: skip
        self._listening = asyncio.create_task(self._listen(process))
        address, fault = "", "it ended before it answered"
        try:
            async with asyncio.timeout(self.longest_start):
                address = await self._answer(process)
        except TimeoutError:
            fault = f"it was not ready after {self.longest_start:.0f} seconds"
        if not address:
            await self.end()
            raise ModelRefused(f"{self.served.path.name} (LOCAL_MODEL) could not be loaded: {self._why(fault)}.")
        return f"{address}/v1"

    async def ends_within(self, seconds: float) -> bool:
        """Whether it has ended, or does so while this waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wait()
        return self.has_ended

    async def end(self) -> None:
        """End it and wait until it has."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        if not await self.ends_within(self.longest_end):
            with suppress(ProcessLookupError):
                process.kill()
        await self._wait()

    async def _wait(self) -> None:
        if self._process and self._listening:
            await self._process.wait()
            await asyncio.shield(self._listening)

    async def _answer(self, process: Process) -> str:
        if process.stdin is None or process.stdout is None:
            return ""
        with suppress(ConnectionError):
            process.stdin.write(self.served.line)
            await process.stdin.drain()
        return (await process.stdout.readline()).decode(errors="replace").strip()

    async def _listen(self, process: Process) -> None:
        """Take what it prints, so that it is never held up, and keep the end of it."""
        while process.stderr and (chunk := await process.stderr.read(CHUNK)):
            self._said = (self._said + chunk)[-MOST_KEPT:]

    def _why(self, fault: str) -> str:
        said = self._said.decode(errors="replace")
        told = REASON.findall(said) or [f"{fault}: {line}" for line in said.splitlines()[-1:]] or [fault]
        return str(told[0]).replace(str(self.served.path), "the file")[:MOST_TOLD].rstrip(". ")


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a model needs."""
    return {name: value for name, value in environ.items() if name in PASSED_ON or name.startswith(FAMILIES)}
