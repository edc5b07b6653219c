"""Starts and stops the process that serves a local model file.

The model runs in a process and not in a thread, so that a crash of native code ends only the model, its memory is freed
completely, and a slow start can be killed.
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

WORKER = Path(__file__).with_name("model_worker.py")
START_TIMEOUT_SECONDS, END_TIMEOUT_SECONDS = 300.0, 3.0
MAX_STDERR_BYTES, MAX_ERROR_CHARACTERS = 8_000, 200
CHUNK_BYTES = 4_096
# Native code that reads an untrusted file gets no secrets from the environment.
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
PASSED_PREFIXES = ("GGML_", "OMP_", "CUDA_", "HIP_", "VK_")
LOAD_ERROR = re.compile(r"error loading model: (.+)")  # message of llama.cpp


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """The configuration of a server: model file, the model's name, context window in tokens, threads, and API key."""

    path: Path
    name: str
    context: int
    threads: int
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def line(self) -> bytes:
        """The JSON line for the process's standard input."""
        sizes = {"context": self.context, "threads": self.threads}
        return json.dumps({"path": str(self.path), "name": self.name, "key": self.key, **sizes}).encode() + b"\n"


@dataclass(slots=True, kw_only=True)
class ModelProcess:
    """The server process. `setting`: name of the setting for the file, for errors. `worker`: the script to run."""

    served: ServedModel
    setting: str
    worker: Path = WORKER
    start_timeout: float = START_TIMEOUT_SECONDS
    end_timeout: float = END_TIMEOUT_SECONDS
    _process: Process | None = field(default=None, init=False, repr=False)
    _reader: "asyncio.Task[None] | None" = field(default=None, init=False, repr=False)
    _stderr: bytes = field(default=b"", init=False, repr=False)

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    async def start(self) -> str:
        """Load the model and return its base URL; raise ModelRefused with the reason."""
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(self.worker)),
            stdin=PIPE, stdout=PIPE, stderr=PIPE, env=filter_environment(os.environ),
            start_new_session=True,  # Ctrl-C reaches only Signoff, and Signoff ends this process
        )  # fmt: skip
        self._reader = asyncio.create_task(self._read_stderr(process))
        address, fault = "", "it ended before it answered"
        try:
            async with asyncio.timeout(self.start_timeout):
                address = await self._read_address(process)
        except TimeoutError:
            fault = f"it was not ready after {self.start_timeout:.0f} seconds"
        if not address:
            await self.end()
            name, why = f"{self.served.path.name} ({self.setting})", self._explain(fault)
            raise ModelRefused(f"{name} could not be loaded: {why}.")
        return f"{address}/v1"

    async def ends_within(self, seconds: float) -> bool:
        """Wait for at most that time; return whether the process has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wait()
        return self.has_ended

    async def end(self) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        if not await self.ends_within(self.end_timeout):
            with suppress(ProcessLookupError):
                process.kill()
        await self._wait()

    async def _wait(self) -> None:
        if self._process and self._reader:
            await self._process.wait()
            await asyncio.shield(self._reader)

    async def _read_address(self, process: Process) -> str:
        if process.stdin is None or process.stdout is None:
            return ""
        with suppress(ConnectionError):
            process.stdin.write(self.served.line)
            await process.stdin.drain()
        return (await process.stdout.readline()).decode(errors="replace").strip()

    async def _read_stderr(self, process: Process) -> None:
        """Read stderr so that the process never blocks on writing; keep the last 8,000 bytes for error messages."""
        while process.stderr and (chunk := await process.stderr.read(CHUNK_BYTES)):
            self._stderr = (self._stderr + chunk)[-MAX_STDERR_BYTES:]

    def _explain(self, fault: str) -> str:
        stderr = self._stderr.decode(errors="replace")
        reasons = LOAD_ERROR.findall(stderr) or [f"{fault}: {line}" for line in stderr.splitlines()[-1:]] or [fault]
        return str(reasons[0]).replace(str(self.served.path), "the file")[:MAX_ERROR_CHARACTERS].rstrip(". ")


def filter_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Keep only the environment variables that a worker process needs; secrets are not among them."""
    return {
        name: value for name, value in environ.items() if name in PASSED_VARIABLES or name.startswith(PASSED_PREFIXES)
    }
