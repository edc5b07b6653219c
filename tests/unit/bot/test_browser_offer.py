"""A person at a terminal can have the page opened; a service manager is offered nothing."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.browser_offer import OFFER

ADDRESS = "http://127.0.0.1:8700"
# The terminal becomes the one that controls the process, as a shell's is.
OFFERING = f"""
import asyncio, fcntl, sys, termios
from contextlib import suppress
from bot.browser_offer import offer_browser

if sys.stdin.isatty():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with suppress(TimeoutError):
    asyncio.run(asyncio.wait_for(offer_browser("{ADDRESS}"), float(sys.argv[1])))
"""


@contextmanager
def offering(keys: int, *, seconds: float, browser: str) -> Iterator["subprocess.Popen[str]"]:
    """The offer in a process of its own, whose standard input is `keys`, for so long at most."""
    with subprocess.Popen(
        [sys.executable, "-c", OFFERING, str(seconds)],
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
def test_enter_opens_the_page(terminal: tuple[int, int]) -> None:
    person, keys = terminal
    with offering(keys, seconds=60, browser="echo opened %s") as process:
        assert process.stdout
        assert process.stdout.readline() == f"{OFFER}\n"
        os.write(person, b"\n")
        assert process.stdout.readline() == f"opened {ADDRESS}\n"


@pytest.mark.slow
def test_without_a_terminal_nothing_is_offered() -> None:
    with offering(subprocess.DEVNULL, seconds=0.1, browser="echo opened %s") as process:
        assert process.communicate(timeout=60)[0] == ""
