"""Confines Chromium by bubblewrap if Signoff runs as root: another user, no files, and no network but the proxy.

Chromium runs in a network namespace with one listening socket. `confined_browser_start` hands this socket to
Signoff, and the egress proxy answers connections to it. Without root this is not needed: Chromium's own sandbox
confines pages.
"""

import asyncio
import os
import shlex
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from agent_core.providers.confinement.bwrap_options import (
    NAMESPACES,
    PROCESS_OPTIONS,
    USER_SWITCH_CAPABILITIES,
    find_program,
    missing_tools,
    python_view,
    scratch_view,
    switch_user,
    system_view,
)
from agent_core.providers.confinement.bwrap_process import ADVICE, wait_readable
from agent_core.providers.confinement.interpreter import USR, Interpreter
from agent_core.providers.confinement.limits import BROWSER_USER
from agent_core.providers.egress.proxy import MAX_HEADER_BYTES, EgressProxy

STARTER = Path(__file__).with_name("confined_browser_start.py")
TOOLS = ("bwrap", "setpriv", "prlimit", "sh")
HANDOVER = "/handover"
BROWSER_CONFIG_PATHS = (
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/chromium-browser",
    "/etc/fonts",
    "/var/cache/fontconfig",
)
SCRATCH_BYTES = 300_000_000  # of /tmp, which has the profile, and of /dev/shm
MAX_TASKS = 1_500
PROBE_TIMEOUT_SECONDS, MAX_ERROR_CHARACTERS = 10.0, 300
RUN_AS_USER = "Or start Signoff as an ordinary user: then Chromium's own sandbox is used."


def is_needed() -> bool:
    """Whether Signoff runs as root, so that Chromium would too."""
    return os.geteuid() == 0


def confinement_fault() -> str:
    """Why Chromium cannot be confined, and what to do; "" if it can. Blocking; the first call takes milliseconds."""
    if fault := missing_tools(TOOLS):
        return f"Signoff runs as root, and Chromium would too. {fault}. {RUN_AS_USER}"
    if Interpreter.find() is None:
        return f"Signoff runs as root, and there is no Python to start Chromium as another user. {RUN_AS_USER}"
    try:
        _probe(find_program("bwrap"))
    except (OSError, subprocess.SubprocessError) as fault:
        said = " ".join((getattr(fault, "stderr", None) or str(fault).encode()).decode(errors="replace").split())
        advice = next((advice for sign, advice in ADVICE if sign in said), "")
        told = f"Signoff runs as root, and bubblewrap could not confine Chromium: {said[:MAX_ERROR_CHARACTERS]}."
        return " ".join(filter(None, (told, advice, RUN_AS_USER)))
    return ""


@cache
def _probe(bubblewrap: str) -> None:
    """Run `true` in the confinement; a success is cached. Raise OSError or SubprocessError."""
    line = [bubblewrap, *_confinement_options(), *FINAL_OPTIONS, "--", *switch_user(BROWSER_USER), "/bin/sh", "-c", ":"]
    subprocess.run(  # noqa: S603 - a fixed line
        line, check=True, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS
    )


@asynccontextmanager
async def start_confined(program: str, proxy: EgressProxy, home: Path) -> AsyncIterator[Path]:
    """Serve the proxy inside the confinement; yield a script that starts the browser there.

    `home` is a folder that only this process can enter.
    """
    with socket.socket(socket.AF_UNIX) as handover:
        handover.setblocking(False)
        handover.bind(str(home / "handover"))
        os.chown(home / "handover", BROWSER_USER, BROWSER_USER)
        handover.listen(1)
        taking = asyncio.create_task(_serve_inside(handover, proxy))
        try:
            yield _wrapper(program, proxy.port, home)
        finally:
            taking.cancel()
            await proxy.close()  # first, as a server waits for its connections
            await asyncio.gather(taking, return_exceptions=True)


async def _serve_inside(handover: socket.socket, proxy: EgressProxy) -> None:
    """Receive the listening socket and serve the proxy on it until cancelled; `proxy.close` ends open connections."""
    loop = asyncio.get_running_loop()
    starter, _ = await loop.sock_accept(handover)
    handover.close()
    with starter:
        server = await asyncio.start_server(proxy.accept, sock=await _receive_socket(starter), limit=MAX_HEADER_BYTES)
        async with server:
            await loop.sock_sendall(starter, b".")
            await server.serve_forever()


async def _receive_socket(starter: socket.socket) -> socket.socket:
    await wait_readable(starter.fileno())
    _, descriptors, _, _ = socket.recv_fds(starter, 1, 1)
    return socket.socket(fileno=descriptors[0])


def _wrapper(program: str, port: int, home: Path) -> Path:
    """Write a script that starts the browser confined and passes its arguments on."""
    started = ("python3", "-I", "-c", STARTER.read_text("utf-8"), HANDOVER, str(port), program)
    limits = ("/usr/bin/prlimit", f"--nproc={MAX_TASKS}", "--core=0", "--")
    shown = (
        *_confinement_options(),
        *_browser_view(program),
        "--bind",
        str(home / "handover"),
        HANDOVER,
        *FINAL_OPTIONS,
    )
    line = [find_program("bwrap"), *shown, "--", *switch_user(BROWSER_USER), *limits, *started]
    wrapper = home / "browser"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n', "utf-8")
    wrapper.chmod(0o700)
    return wrapper


def _confinement_options() -> Iterator[str]:
    yield from (*NAMESPACES, *USER_SWITCH_CAPABILITIES, *PROCESS_OPTIONS, "--hostname", "browser")
    yield from system_view()
    yield from python_view(Interpreter.find())
    yield from scratch_view(SCRATCH_BYTES)


def _browser_view(program: str) -> Iterator[str]:
    """Options that mount the browser's own files, its configuration and fonts read-only."""
    folder = Path(program).resolve().parent
    if not folder.is_relative_to(USR):
        yield from ("--ro-bind", str(folder), str(folder))
    for path in BROWSER_CONFIG_PATHS:
        yield from ("--ro-bind-try", path, path)


FINAL_OPTIONS: Sequence[str] = ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp")  # noqa: S108
