"""Attempts to break out of a sandbox, made at the start: nothing is run for anybody where one of them succeeds."""

import asyncio
import os
import secrets
import shutil
import tempfile
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.files import ProgramRun
from agent_core.providers.sandbox.backend import NotStarted

Run: TypeAlias = Callable[[Sequence[str], Path, float], Awaitable[ProgramRun]]

LONGEST, LOOPED = 25.0, 0.5  # seconds; programs start late on a busy machine
GOT_THROUGH, ALL_TRIED = "GOT THROUGH: ", "ALL TRIED"
TRY = """
import os, socket, sys
def tried(what, act):
    try:
        if act() is not False:
            print("GOT THROUGH:", what)
    except (OSError, MemoryError, ValueError):
        pass
"""
# Printed and not returned: whoever reads `environ` of all processes sees what the bot was given, if anything does.
LOOK = """
secret, port = sys.argv[1:]
tried("read /etc/shadow", lambda: open("/etc/shadow").read())
tried("read a file of the bot's", lambda: open(secret).read())
tried("connect to this machine", lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=1))
def write(path):
    open(path, "x").close()
    os.unlink(path)
for folder in ("/", "/usr", "/etc", "/usr/bin", "/root", "/home", "/var", "/opt", os.path.dirname(secret)):
    tried("write to " + folder, lambda: write(os.path.join(folder, "signoff-was-here")))
import ctypes
tried("make a user namespace", lambda: ctypes.CDLL(None).unshare(0x10000000) == 0)
for process in filter(str.isdecimal, os.listdir("/proc")):
    try:
        for line in open(f"/proc/{process}/environ", errors="replace").read().split(chr(0)):
            print("ENVIRON", line.partition("=")[0])
    except OSError:
        pass
tried("become root", lambda: os.setuid(0))
print("ALL TRIED")
"""
FORK = """
import signal
for number in range(int(sys.argv[1])):
    try:
        child = os.fork()
    except OSError:
        break
    if not child:
        signal.pause()
else:
    print("GOT THROUGH: start processes without end")
print("ALL TRIED", flush=True)
os._exit(0)
"""
TAKE = """
tried("take 2 GB of memory", lambda: bytearray(2_000_000_000))
print("ALL TRIED")
"""
LOOP = "while True: pass"
SHELLS = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "OLDPWD", "PATH", "PWD", "SHLVL", "_")
IMAGES = ("GPG_KEY", "HOSTNAME", "LD_LIBRARY_PATH", "TERM")  # of Docker, with PYTHON_…
MOST_FORKS = 300


@dataclass(slots=True)
class Listener:
    """Something on the loopback of this machine that nobody in the sandbox may reach."""

    port: int = 0
    reached: bool = False
    _server: asyncio.Server | None = field(default=None, repr=False)

    async def __aenter__(self) -> "Listener":
        self._server = await asyncio.start_server(self._hear, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_failure: object) -> None:
        if self._server:
            self._server.close()
            await self._server.wait_closed()

    async def _hear(self, _reader: StreamReader, writer: StreamWriter) -> None:
        self.reached = True
        writer.close()


async def find_escapes(run: Run, root: Path) -> str:
    """A sentence on what got out of the sandbox, or why that could not be tried; "" when nothing did."""
    home = await asyncio.to_thread(_made, root)
    try:
        secret = home / "secret"
        secret.write_text(secrets.token_hex(), "utf-8")
        async with Listener() as listener:
            tries = (
                _try(run, home / "look", LOOK, str(secret), str(listener.port)),
                _try(run, home / "fork", FORK, str(MOST_FORKS)),
                _try(run, home / "take", TAKE),
                _run_loop(run, home / "loop"),
            )
            faults = [fault for fault in await asyncio.gather(*tries) if fault]
            if listener.reached:
                faults.insert(0, "a program in it could connect to this machine")
        return f"The sandbox does not hold: {'; '.join(faults)}." if faults else ""
    except NotStarted as error:
        return f"Programs cannot be run, as the sandbox could not be started: {error.why}"
    except (CommandError, OSError, TimeoutError) as error:
        return f"The sandbox could not be tried: {error}"
    finally:
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)


def _made(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=".self-test-", dir=root))


async def _try(run: Run, folder: Path, code: str, *arguments: str) -> str:
    ended = await run(("python3", "-I", "-c", TRY + code, *arguments), folder, LONGEST)
    if GOT_THROUGH in ended.output:
        told = ended.output.partition(GOT_THROUGH)[2].splitlines()[0]
        return f"a program in it could {told}"
    if leaked := _leaked(ended.output):
        return f"a program in it could read the environment ({leaked})"
    if ALL_TRIED not in ended.output:
        said = ended.ended_because or ended.output.strip()[-200:] or f"exit code {ended.exit_code}"
        return f"a program in it did not do what it should ({folder.name}: {said})"
    return ""


async def _run_loop(run: Run, folder: Path) -> str:
    async with asyncio.timeout(LONGEST):
        ended = await run(("python3", "-I", "-c", LOOP), folder, LOOPED)
    return "" if ended.ended_because else "a program that runs for ever ended by itself, or could not be started"


def _leaked(output: str) -> str:
    """Names of variables that this process has and a program in the sandbox saw."""
    seen = {line.removeprefix("ENVIRON ") for line in output.splitlines() if line.startswith("ENVIRON ")}
    return ", ".join(
        sorted(name for name in seen & {*os.environ}.difference(SHELLS, IMAGES) if not name.startswith("PYTHON"))
    )
