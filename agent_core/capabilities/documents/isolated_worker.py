"""Runs a worker program on untrusted input with a timeout, and reads the JSON that it prints.

The worker is a process and not a thread, so that input that exhausts CPU or memory ends only that process. Where
bubblewrap works, input that takes the process over finds no network, no environment and no files either.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from agent_core.capabilities.documents.worker_confinement import confinement_of
from agent_core.providers.process_end import end_process

FRAME = Path(__file__).with_name("worker_frame.py")
MAX_ANSWER_BYTES = 16 * 2**20  # JSON escapes a character with 6 or 12 bytes
# Code that reads untrusted input gets no secrets from the environment.
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
BROKEN, SLOW = "broken", "slow"
CPU_SHARE = 2 / 3  # of the seconds that a worker has


async def read_isolated(worker: Path, *arguments: str, given: bytes, seconds: float) -> object:
    """Run the worker with `given` on stdin and return its JSON.

    If the worker exits with an error (1), return {"fault": BROKEN}; if it exceeds a limit of time, memory or output,
    return {"fault": SLOW}.
    """
    prefix = await asyncio.to_thread(confinement_of, FRAME, worker)
    cpu_seconds = str(max(1, int(seconds * CPU_SHARE)))
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(*prefix, sys.executable, "-P", str(FRAME), cpu_seconds, str(worker), *arguments),
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            output = await _exchange(process, given)
            match await process.wait():
                case 0:
                    return json.loads(output)
                case 1:
                    return {"fault": BROKEN}
                case _:
                    return {"fault": SLOW}
    except (TimeoutError, ValueError):
        return {"fault": SLOW}
    finally:
        await end_process(process)


async def _exchange(process: Process, data: bytes) -> bytes:
    """Write the data and return the output; raise ValueError if it is too long."""
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(ConnectionError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    output = bytearray()
    while len(output) <= MAX_ANSWER_BYTES and (chunk := await process.stdout.read(2**16)):
        output += chunk
    if len(output) > MAX_ANSWER_BYTES:
        raise ValueError
    return bytes(output)
