"""How programs are started in the sandbox: by a process that is killed meanwhile, and by an ordinary user."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agent_core.providers.confinement import bwrap_process
from agent_core.providers.confinement.bwrap_process import GATE, has_more_filters, start_bwrap
from agent_core.providers.confinement.limits import LIMITS, NotStarted
from tests.attacks.ordinary import run_tests
from tests.e2e.process import ROOT
from tests.packages import SANDBOX, need

# A process of Signoff is killed while it starts a program in the sandbox: nobody watches the program, so it ends
STARTER = """
import asyncio, sys
from pathlib import Path
from agent_core.capabilities.programs.bubblewrap import BubblewrapBackend

async def start(folder, argv):
    backend = BubblewrapBackend(data=folder.parent, file_bytes=10**6)
    sys.stdout.write("starts\\n")
    sys.stdout.flush()
    program = await backend.start(argv, folder)
    await program.wait_ended()

asyncio.run(start(Path(sys.argv[1]), sys.argv[2:]))
"""
KILLS = 40
FIRST_SECONDS, MORE_SECONDS = 0.003, 0.0003  # a start takes about 8 ms
PATIENCE_SECONDS = 5.0


@pytest.mark.parametrize(("said", "runs"), [(b"", False), (b"go\n", True)])
def test_the_gate_of_a_program_opens_by_a_line_and_not_by_the_end(said: bytes, runs: bool) -> None:
    done = subprocess.run([*GATE, "/bin/sh", "-c", "echo ran; cat"], input=said, capture_output=True, check=False)
    assert (done.stdout, done.returncode == 0) == (b"ran\n" if runs else b"", runs)


@pytest.mark.parametrize(
    ("status", "own", "has_more"),
    [
        ("Seccomp:\t0\nSeccomp_filters:\t0\n", "Seccomp:\t0\nSeccomp_filters:\t0\n", False),
        ("Seccomp:\t2\nSeccomp_filters:\t1\n", "Seccomp:\t0\nSeccomp_filters:\t0\n", True),
        ("Seccomp:\t2\nSeccomp_filters:\t1\n", "Seccomp:\t2\nSeccomp_filters:\t1\n", False),
        ("Seccomp:\t2\nSeccomp_filters:\t2\n", "Seccomp:\t2\nSeccomp_filters:\t1\n", True),
        ("Seccomp:\t0\n", "Seccomp:\t0\n", False),
        ("Seccomp:\t2\n", "Seccomp:\t0\n", True),
        ("Seccomp:\t2\n", "Seccomp:\t2\n", True),
    ],
)
def test_what_an_old_linux_and_a_container_tell_of_filters(status: str, own: str, has_more: bool) -> None:
    assert has_more_filters(f"Name:\tbwrap\n{status}Speculation_Store_Bypass:\tvulnerable\n", own) is has_more


@pytest.mark.slow
async def test_a_start_ends_although_what_bubblewrap_left_behind_holds_its_pipes_and_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bwrap_process, "START_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(bwrap_process, "FAULT_SECONDS", 0.2)
    argv = ("/bin/sleep", f"{os.getpid()}999")
    sleep = " ".join(argv)
    leaves_one = ["/bin/sh", "-c", f"echo 'bwrap: setting up uid map' >&2; setsid {sleep} & exec {sleep}", "sh"]
    try:
        with pytest.raises(NotStarted):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await start_bwrap(leaves_one, ["/bin/true"], fds=(), limits=LIMITS)
        assert "uid map" in str(vars(caplog.records[-1]))
    finally:
        end_blocked_inits(argv)


@pytest.mark.slow
def test_no_program_outlives_a_process_that_was_killed_while_it_started_the_program(tmp_path: Path) -> None:
    need(*SANDBOX)
    folder = tmp_path / "workspace"
    folder.mkdir(mode=0o777)
    for number in range(KILLS):
        argv = ("/bin/sleep", f"{os.getpid()}{number:03}")  # nobody else sleeps as long
        with subprocess.Popen(
            [sys.executable, "-c", STARTER, str(folder), *argv], cwd=ROOT, stdout=subprocess.PIPE
        ) as starter:
            assert starter.stdout
            assert starter.stdout.readline() == b"starts\n"
            end_wait = time.perf_counter() + FIRST_SECONDS + number * MORE_SECONDS
            while time.perf_counter() < end_wait:
                continue
            starter.kill()
        wait_for_end(argv, f"killed {number * MORE_SECONDS + FIRST_SECONDS:.4f} s after the start began")
        end_blocked_inits(argv)


def wait_for_end(argv: tuple[str, ...], told: str) -> None:
    """Wait until no process runs this program; fail after a while, and end it."""
    end = time.perf_counter() + PATIENCE_SECONDS
    while running := [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == [*argv]]:
        if time.perf_counter() > end:
            for each in running:
                each.kill()
            pytest.fail(f"a program runs on: {told}")


def end_blocked_inits(argv: tuple[str, ...]) -> None:
    """End what bubblewrap leaves behind if it is killed before it lets its child begin: a process that waits for it."""
    for each in psutil.process_iter(["cmdline"]):
        if (each.info["cmdline"] or [])[-len(argv) :] == [*argv]:
            each.kill()


# The sandbox once more, as an ordinary user: root's tests show both ways of shutting programs in
SHOWN_TWICE = (
    "tests/attacks/test_sandbox.py",
    "tests/attacks/test_sandbox_leftovers.py",
    "tests/attacks/test_plugin_workers.py",
    "tests/contract/test_sandbox.py",
    "tests/unit/agent_core/capabilities/programs/test_sandbox.py",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests as one anyway")
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_the_sandbox_holds_for_an_ordinary_user_too() -> None:
    done = await asyncio.to_thread(run_tests, *SHOWN_TWICE)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests as one anyway")
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_an_ordinary_users_chromium_has_its_own_sandbox() -> None:
    need("chromium")
    done = await asyncio.to_thread(run_tests, "tests/attacks/test_egress_pages.py", "-k", "no_process or profile")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
