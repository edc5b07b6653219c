"""The terminal's bell calls who typed nothing for a while, and nobody else."""

import os

import pytest
from rich.text import Text

from adapters.terminal.streams import BELL_SECONDS, Keyboard, bell


@pytest.mark.proves("attention:bell")
async def test_the_bell_rings_unless_a_line_was_typed_a_moment_ago() -> None:
    reading, writing = os.pipe()
    keyboard, written = Keyboard(reading), list[Text | str]()
    ring = bell(keyboard, written.append)
    ring()
    assert written == ["\a"]
    os.write(writing, b"y\n")
    await keyboard.line()
    ring()
    assert written == ["\a"]
    keyboard.typed_at -= BELL_SECONDS
    ring()
    assert written == ["\a", "\a"]
    os.close(writing)
    os.close(reading)
