"""Has something hostile read by a short-lived program of its own, which nothing but its end can disturb.

A process and no thread: a file or page made to keep its reader busy, or to fill the memory, ends that process alone.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from agent_core.providers.llm.model_process import passed_on

MOST_ANSWER = 16 * 2**20  # JSON spells a letter with six, or twelve
BROKEN, SLOW = "broken", "slow"


async def read_isolated(worker: Path, *arguments: str, given: bytes, seconds: float) -> object:
    """What the program said of its standard input, in JSON.

    {"fault": BROKEN} where it failed, {"fault": SLOW} where it took too long or too much and was ended.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(worker), *arguments),
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=passed_on(os.environ), start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            said = await _exchange(process, given)
            match await process.wait():
                case 0:
                    return json.loads(said)
                case 1:
                    return {"fault": BROKEN}
                case _:
                    return {"fault": SLOW}
    except (TimeoutError, ValueError):
        return {"fault": SLOW}
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # what is left in its pipe would keep it from ending


async def _exchange(process: Process, data: bytes) -> bytes:
    """What it printed; raise ValueError where that is more than it may be."""
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(ConnectionError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    said = bytearray()
    while len(said) <= MOST_ANSWER and (chunk := await process.stdout.read(2**16)):
        said += chunk
    if len(said) > MOST_ANSWER:
        raise ValueError
    return bytes(said)
