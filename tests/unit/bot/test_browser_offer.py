"""A person at a terminal can have the page opened; a service manager is offered nothing."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.commands import OFFER
from bot.private_files import PAGE_LINK

ADDRESS = "http://127.0.0.1:8700"
# The terminal becomes the one that controls the process, as a shell's is.
OFFERING = f"""
import asyncio, fcntl, sys, termios
from contextlib import suppress
from pathlib import Path
from bot.commands import offer_browser

if sys.stdin.isatty():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with suppress(TimeoutError):
    asyncio.run(asyncio.wait_for(offer_browser("{ADDRESS}", Path(sys.argv[2])), float(sys.argv[1])))
"""


@contextmanager
def offering(keys: int, home: Path, *, seconds: float, browser: str) -> Iterator["subprocess.Popen[str]"]:
    """The offer in a process of its own, whose standard input is `keys`, for so long at most."""
    with subprocess.Popen(
        [sys.executable, "-c", OFFERING, str(seconds), str(home)],
        stdin=keys,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "BROWSER": browser},
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The person's end and the process's end of a terminal."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


@pytest.mark.slow
def test_enter_opens_the_page_by_a_file_that_is_private(terminal: tuple[int, int], tmp_path: Path) -> None:
    person, keys = terminal
    with offering(keys, tmp_path, seconds=60, browser="echo opened %s") as process:
        assert process.stdout
        assert process.stdout.readline() == f"{OFFER}\n"
        os.write(person, b"\n")
        file = tmp_path / PAGE_LINK
        assert process.stdout.readline() == f"opened {file.as_uri()}\n"
        assert (f"url={ADDRESS}" in file.read_text(), file.stat().st_mode & 0o077) == (True, 0)


@pytest.mark.slow
def test_without_a_terminal_nothing_is_offered(tmp_path: Path) -> None:
    with offering(subprocess.DEVNULL, tmp_path, seconds=0.1, browser="echo opened %s") as process:
        assert process.communicate(timeout=60)[0] == ""
