"""Sandbox self-test: runs programs that try to escape. If one succeeds, the caller allows no programs at all."""

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
from agent_core.providers.confinement.limits import NotStarted

Run: TypeAlias = Callable[[Sequence[str], Path, float], Awaitable[ProgramRun]]

TIMEOUT_SECONDS, LOOP_SECONDS, NONCE_SECONDS = 25.0, 0.5, 5.0  # generous for a busy machine
SUCCESS_MARK, END_MARK = "GOT THROUGH: ", "ALL TRIED"
PRELUDE = """
import os, socket, sys
def tried(what, act):
    try:
        if act() is not False:
            print("GOT THROUGH:", what)
    except (OSError, MemoryError, ValueError):
        pass
"""
# `environ` is printed; _leaked looks for names of this process's variables in the output.
PROBE = """
secret, port, nonce = sys.argv[1:]
def connect():
    socket.create_connection(("127.0.0.1", int(port)), timeout=1).sendall(nonce.encode())
tried("read /etc/shadow", lambda: open("/etc/shadow").read())
tried("read a file of the bot's", lambda: open(secret).read())
tried("connect to this machine", connect)
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
FORK_BOMB = """
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
MEMORY_HOG = """
tried("take 2 GB of memory", lambda: bytearray(2_000_000_000))
print("ALL TRIED")
"""
LOOP = "while True: pass"
SHELL_VARIABLES = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "OLDPWD", "PATH", "PWD", "SHLVL", "_")
IMAGE_VARIABLES = ("GPG_KEY", "HOSTNAME", "LD_LIBRARY_PATH", "TERM")  # of Docker, with PYTHON_…
MAX_FORKS = 300


@dataclass(slots=True)
class Listener:
    """A TCP server on loopback that programs in the sandbox must not reach.

    Anything on this machine may connect to it: only what sends the `nonce` is the program that was to try.
    """

    port: int = 0
    nonce: str = field(default_factory=secrets.token_hex)
    connections: int = 0
    reached: bool = False
    _server: asyncio.Server | None = field(default=None, repr=False)

    async def __aenter__(self) -> "Listener":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_failure: object) -> None:
        if self._server:
            self._server.close()
            await self._server.wait_closed()

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        try:
            async with asyncio.timeout(NONCE_SECONDS):
                self.reached |= await reader.readexactly(len(self.nonce)) == self.nonce.encode()
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def find_escapes(run: Run, root: Path) -> str:
    """Run all attempts; return a sentence on what succeeded or why the test failed, "" if the sandbox holds."""
    folder = await asyncio.to_thread(_make_folder, root)
    try:
        secret = folder / "secret"
        secret.write_text(secrets.token_hex(), "utf-8")
        async with Listener() as listener:
            attempts = (
                _attempt(run, folder / "look", PROBE, str(secret), str(listener.port), listener.nonce),
                _attempt(run, folder / "fork", FORK_BOMB, str(MAX_FORKS)),
                _attempt(run, folder / "take", MEMORY_HOG),
                _run_loop(run, folder / "loop"),
            )
            faults = [fault for fault in await asyncio.gather(*attempts) if fault]
            if listener.reached:
                faults.insert(0, "a program in it could connect to this machine")
        return f"The sandbox does not hold: {'; '.join(faults)}." if faults else ""
    except NotStarted as error:
        return f"The sandbox could not be started: {error.why}"
    except (CommandError, OSError, TimeoutError) as error:
        return f"The sandbox could not be tried: {error}"
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _make_folder(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=".self-test-", dir=root))


async def _attempt(run: Run, folder: Path, code: str, *arguments: str) -> str:
    ended = await run(("python3", "-I", "-c", PRELUDE + code, *arguments), folder, TIMEOUT_SECONDS)
    if SUCCESS_MARK in ended.output:
        told = ended.output.partition(SUCCESS_MARK)[2].splitlines()[0]
        return f"a program in it could {told}"
    if leaked := _leaked(ended.output):
        return f"a program in it could read the environment ({leaked})"
    if END_MARK not in ended.output:
        said = ended.ended_because or ended.output.strip()[-200:] or f"exit code {ended.exit_code}"
        return f"a program in it did not do what it should ({folder.name}: {said})"
    return ""


async def _run_loop(run: Run, folder: Path) -> str:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        ended = await run(("python3", "-I", "-c", LOOP), folder, LOOP_SECONDS)
    return "" if ended.ended_because else "a program that runs for ever ended by itself, or could not be started"


def _leaked(output: str) -> str:
    """The names of this process's environment variables that the program could read, without common ones."""
    seen = {line.removeprefix("ENVIRON ") for line in output.splitlines() if line.startswith("ENVIRON ")}
    own = seen & {*os.environ}.difference(SHELL_VARIABLES, IMAGE_VARIABLES)
    return ", ".join(sorted(name for name in own if not name.startswith("PYTHON")))
