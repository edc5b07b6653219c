"""Attacks on the machine by a page that has taken over the browser which draws it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.capabilities.programs.sandbox_self_test import Listener
from agent_core.capabilities.web import browser_confinement
from agent_core.capabilities.web.browser_confinement import start_confined
from agent_core.capabilities.web.browser_pages import BrowserPages, browser_fault
from agent_core.capabilities.web.confined_browser_start import arguments_for
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.providers.confinement import bwrap_options
from agent_core.providers.confinement.limits import BROWSER_USER
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import open_tunnel
from agent_core.providers.system_packages import install_command
from tests.attacks.rows import attack
from tests.packages import SANDBOX, need, need_drawing
from tests.patience import PATIENCE_SECONDS
from tests.standins.site import OPEN, Names, Request, page
from tests.standins.site import site as a_site

DOOR = EgressGateway(internal=InternalHosts.of([OPEN]), resolve=Names())
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="an ordinary user's Chromium confines itself")
CODE = """
import os, socket, sys
port, listener, secret = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
tries = {
    "shadow": lambda: open("/etc/shadow").read(),
    "secret": lambda: open(secret).read(),
    "listener": lambda: socket.create_connection(("127.0.0.1", listener)),
    "network": lambda: socket.create_connection(("9.9.9.9", 53)),
    "handover": lambda: socket.socket(socket.AF_UNIX).connect("/handover"),
    "kill": lambda: os.kill(int(sys.argv[4]), 9),
    "root": lambda: os.setuid(0),
}
def answer(act):
    try:
        return act() or "done"
    except OSError as error:
        return error.strerror
proxy = socket.create_connection(("127.0.0.1", port))
proxy.sendall(b"GET http://example.org/ HTTP/1.1\\r\\n\\r\\n")
print("proxy:", proxy.recv(99).split(b"\\r\\n")[0].decode())
for name, act in tries.items():
    print(f"{name}: {answer(act)}")
"""
TRIED = {
    "shadow": ("Reading /etc/shadow", "No such file or directory"),
    "secret": ("Reading a file of the bot", "No such file or directory"),
    "listener": ("Connecting to a service on the machine's loopback interface", "Connection refused"),
    "network": ("Connecting to the internet without the proxy", "Network is unreachable"),
    "handover": ("Passing the bot a second socket", "Connection refused"),
    "kill": ("Killing the bot", "No such process"),
    "root": ("Becoming root", "Operation not permitted"),
}


async def tried(folder: Path) -> dict[str, str]:
    """What a program is answered that runs where Chromium does, with the proxy's own answer."""
    need(*SANDBOX)
    async with (
        Listener() as listener,
        open_tunnel(DOOR, Sites(), 1_000) as proxy,
        start_confined("/usr/bin/env", proxy, folder) as program,
    ):
        line = (str(proxy.port), str(listener.port), str(folder / "secret"), str(os.getpid()))
        process = await asyncio.create_subprocess_exec(
            str(program), "python3", "-I", "-c", CODE, *line, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    assert not listener.connections
    return dict(line.split(": ") for line in said.decode().splitlines())


@pytest.mark.slow
@needs_root
@pytest.mark.xdist_group("taken")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=attack("door", f"{tries}, from a compromised browser", answer))
        for name, (tries, answer) in TRIED.items()
    ],
)
async def test_a_browser_that_was_taken_over_reaches_only_the_proxy(tmp_path: Path, name: str, answer: str) -> None:
    (tmp_path / "secret").write_text("the bot's")
    answers = await tried(tmp_path)
    assert answers["proxy"] == "HTTP/1.1 407 Proxy Authentication Required"
    assert answers[name] == answer


@pytest.mark.slow
@pytest.mark.proves("browser:not-root")
@attack("door", "Rendering a page as root", "the browser runs as another user, or in its own sandbox")
async def test_no_process_of_the_browser_is_roots(answer: str) -> None:
    need_drawing()
    seen: dict[int, str] = {}

    async def look(_request: Request) -> AsyncIterator[bytes]:
        seen.update(await asyncio.to_thread(browsers_below, os.getpid()))
        yield page("seen", "text/plain")

    async with a_site() as site:
        site.answers = {"/": page("<p id=p>drawn</p><script>fetch('/look')</script>"), "/look": look}
        await BrowserPages(gateway=DOOR).draw(site.url(), Sites())
    assert len(seen) > 2, answer
    users = {line.split()[1] for status in seen.values() for line in status.splitlines() if line.startswith("Uid:")}
    assert users == {str(BROWSER_USER if IS_ROOT else os.geteuid())}
    if not IS_ROOT:
        assert not any("--no-sandbox" in status for status in seen.values())


@needs_root
@pytest.mark.proves("browser:not-root")
async def test_root_draws_nothing_without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need("chromium")
    monkeypatch.setattr(bwrap_options, "PATHS", str(tmp_path))
    told = (
        "Signoff runs as root, and Chromium would too. bwrap is not installed. Install it: "
        f"{install_command('bubblewrap', 'util-linux', 'dash')}. Or start Signoff as an ordinary user: then Chromium's "
        "own sandbox is used."
    )
    assert browser_fault() == f"Pages that need JavaScript are not drawn. {told}"
    with pytest.raises(CommandError) as refusal:
        await BrowserPages(gateway=DOOR).draw("http://example.org/", Sites())
    assert str(refusal.value) == f"The page was not drawn. {told}"


@needs_root
def test_a_bubblewrap_that_cannot_confine_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, does in {"bwrap": "echo bwrap: No permissions to create new namespace >&2; exit 1", "sh": ""}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(bwrap_options, "PATHS", f"{tmp_path}:{bwrap_options.PATHS}")
    assert browser_confinement.confinement_fault().startswith(
        "Signoff runs as root, and bubblewrap could not confine Chromium: bwrap: No permissions to create new "
        "namespace. Allow namespaces: on Ubuntu sysctl"
    )


def test_the_profile_is_kept_in_memory_and_the_own_sandbox_used_where_it_can_be() -> None:
    given = ["--headless", "--user-data-dir=/tmp/somewhere"]
    assert arguments_for(given, own_sandbox=True) == ["--headless", "--user-data-dir=/tmp/profile"]
    assert arguments_for(given, own_sandbox=False)[-1] == "--no-sandbox"


def browsers_below(parent: int) -> dict[int, str]:
    """The status and command line of each Chromium that a process started, and that these started."""
    found: dict[int, str] = {}
    for task in Path(f"/proc/{parent}/task").glob("[0-9]*/children"):
        for child in map(int, task.read_text().split()):
            with suppress(OSError):
                line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if Path(f"/proc/{child}/exe").readlink().name.startswith("chrom"):
                    found[child] = Path(f"/proc/{child}/status").read_text() + line
                found |= browsers_below(child)
    return found
