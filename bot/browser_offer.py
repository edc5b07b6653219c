"""Offers to open the local workspace in a browser, where a person started Signoff at a terminal."""

import asyncio
import os
import sys
import webbrowser
from html import escape
from pathlib import Path
from typing import TextIO

from bot.private_files import PAGE_LINK
from bot.startup import say

OFFER = "Press Enter to open it in your browser."


async def offer_browser(address: str, home: Path, keys: TextIO = sys.stdin) -> None:
    """Say that Enter opens the page, and do so at the first Enter. Then wait until cancelled.

    Without a terminal, or where no browser with a window of its own is known, nothing is offered.
    """
    if _has_person(keys) and _has_browser():
        say(OFFER)
        await _enter(keys)
        await asyncio.to_thread(webbrowser.open, link_file(address, home).resolve().as_uri())
    await asyncio.Event().wait()


def link_file(address: str, home: Path) -> Path:
    """A private file that leads to the address: other accounts can read the arguments of the browser's process."""
    file = home / PAGE_LINK
    file.touch(mode=0o600)
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">\n')
    return file


async def _enter(keys: TextIO) -> None:
    """Wait for a line from the terminal, while this process is in its foreground."""
    pressed, loop = asyncio.Event(), asyncio.get_running_loop()

    def read() -> None:
        if _has_person(keys):  # a process in the background that reads is stopped by its terminal
            os.read(keys.fileno(), 1024)
            pressed.set()

    loop.add_reader(keys, read)
    try:
        await pressed.wait()
    finally:
        loop.remove_reader(keys)


def _has_person(keys: TextIO) -> bool:
    """Whether lines typed at a terminal come to this process."""
    try:
        return keys.isatty() and os.tcgetpgrp(keys.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _has_browser() -> bool:
    """Whether there is a browser that does not take over the terminal, or one that the person named."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    return "BROWSER" in os.environ or type(found) is not webbrowser.GenericBrowser
