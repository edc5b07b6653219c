"""Where root runs Signoff, Chromium runs in bubblewrap: as another user, without its files, with one way out.

Chromium gets a network of its own in which nothing is but one listening socket. It is handed to Signoff, which answers
with the proxy. An ordinary user needs none of this: Chromium's own sandbox confines what strangers' pages run.
"""

import asyncio
import os
import shlex
import socket
import subprocess
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from agent_core.providers.egress.proxy import LONGEST_HEAD, EgressProxy
from agent_core.providers.sandbox.backend import BROWSER_USER
from agent_core.providers.sandbox.bwrap_options import (
    ENDED_WITH_US,
    NAMESPACES,
    TO_BECOME,
    become,
    missing_tools,
    python_view,
    scratch_view,
    system_view,
    tool,
)
from agent_core.providers.sandbox.bwrap_process import ADVICE, wait_readable
from agent_core.providers.sandbox.interpreter import SHOWN, Interpreter

STARTER = Path(__file__).with_name("browser_starter.py")
TOOLS = ("bwrap", "setpriv", "prlimit", "sh")
HANDOVER = "/handover"
READ_BY_BROWSERS = ("/etc/chromium", "/etc/chromium.d", "/etc/chromium-browser", "/etc/fonts", "/var/cache/fontconfig")
SCRATCH_BYTES = 300_000_000  # of /tmp, where the profile is, and of /dev/shm
MOST_TASKS = 1_500
PROBE_TIMEOUT_SECONDS, MOST_SAID = 10.0, 300
OTHERWISE = "Or start Signoff as an ordinary user: then Chromium's own sandbox is used."


def is_needed() -> bool:
    """Whether Chromium would otherwise run as root."""
    return os.geteuid() == 0


def confinement_fault() -> str:
    """Why Chromium cannot be confined on this machine and what to do, or ""; blocking, for some milliseconds once."""
    if fault := missing_tools(TOOLS):
        return f"Signoff runs as root, and Chromium would too. {fault}. {OTHERWISE}"
    if Interpreter.found() is None:
        return f"Signoff runs as root, and there is no Python to start Chromium as another user. {OTHERWISE}"
    try:
        _confine_nothing(tool("bwrap"))
    except (OSError, subprocess.SubprocessError) as fault:
        said = " ".join((getattr(fault, "stderr", None) or str(fault).encode()).decode(errors="replace").split())
        advice = next((advice for sign, advice in ADVICE if sign in said), "")
        told = f"Signoff runs as root, and bubblewrap could not confine Chromium: {said[:MOST_SAID]}."
        return " ".join(filter(None, (told, advice, OTHERWISE)))
    return ""


@cache
def _confine_nothing(bubblewrap: str) -> None:
    """Try the confinement with a program that does nothing, until that has worked once; raise OSError or its like."""
    line = [bubblewrap, *_confined(), *LAST, "--", *become(BROWSER_USER), "/bin/sh", "-c", ":"]
    subprocess.run(  # noqa: S603 - a fixed line
        line, check=True, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS
    )


@asynccontextmanager
async def start_confined(program: str, proxy: EgressProxy, home: Path) -> AsyncIterator[Path]:
    """A program to start in place of the browser's, which confines it and lets it reach the proxy at its own port.

    `home` is a folder that only this process may enter.
    """
    connections: set[asyncio.Task[None]] = set()
    with socket.socket(socket.AF_UNIX) as taker:
        taker.setblocking(False)
        taker.bind(str(home / "handover"))
        os.chown(home / "handover", BROWSER_USER, BROWSER_USER)
        taker.listen(1)
        taking = asyncio.create_task(_serve_inside(taker, proxy, connections))
        try:
            yield _wrapper(program, proxy.port, home)
        finally:
            taking.cancel()
            for task in connections:
                task.cancel()
            await asyncio.gather(taking, *connections, return_exceptions=True)


async def _serve_inside(taker: socket.socket, proxy: EgressProxy, connections: set["asyncio.Task[None]"]) -> None:
    """Take the socket that listens inside, once, and answer there until this is cancelled."""
    loop = asyncio.get_running_loop()

    def serve(reader: StreamReader, writer: StreamWriter) -> None:
        task = loop.create_task(proxy.serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    giver, _ = await loop.sock_accept(taker)
    taker.close()
    with giver:
        server = await asyncio.start_server(serve, sock=await _receive_socket(giver), limit=LONGEST_HEAD)
        async with server:
            await loop.sock_sendall(giver, b".")
            await server.serve_forever()


async def _receive_socket(giver: socket.socket) -> socket.socket:
    await wait_readable(giver.fileno())
    _, descriptors, _, _ = socket.recv_fds(giver, 1, 1)
    return socket.socket(fileno=descriptors[0])


def _wrapper(program: str, port: int, home: Path) -> Path:
    """A script that starts the browser confined, with the arguments that it is given."""
    started = ("python3", "-I", "-c", STARTER.read_text("utf-8"), HANDOVER, str(port), program)
    limits = ("/usr/bin/prlimit", f"--nproc={MOST_TASKS}", "--core=0", "--")
    shown = (*_confined(), *_browser_view(program), "--bind", str(home / "handover"), HANDOVER, *LAST)
    line = [tool("bwrap"), *shown, "--", *become(BROWSER_USER), *limits, *started]
    wrapper = home / "browser"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n', "utf-8")
    wrapper.chmod(0o700)
    return wrapper


def _confined() -> Iterator[str]:
    yield from (*NAMESPACES, *TO_BECOME, *ENDED_WITH_US, "--hostname", "browser")
    yield from system_view()
    yield from python_view(Interpreter.found())
    yield from scratch_view(SCRATCH_BYTES)


def _browser_view(program: str) -> Iterator[str]:
    """The browser itself where it is no part of the system, the settings of its package, and fonts."""
    folder = Path(program).resolve().parent
    if not folder.is_relative_to(SHOWN):
        yield from ("--ro-bind", str(folder), str(folder))
    for path in READ_BY_BROWSERS:
        yield from ("--ro-bind-try", path, path)


LAST: Sequence[str] = ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp")  # noqa: S108
