"""Standard input and output as async streams: a keyboard read in threads, writers, the bell, the look of a stream."""

import asyncio
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import TextIO, TypeAlias

from rich.text import Text

from adapters.terminal.render import PLAIN, Look, prompt_text, said_text
from adapters.terminal.rich_terminal import RichTerminal, flush_keys

Read: TypeAlias = Callable[[], Awaitable[str | None]]
Write: TypeAlias = Callable[[Text | str], None]
MAX_WIDTH_CELLS = 110
BELL_SECONDS = 10.0  # who typed more recently is at the terminal


def _nothing() -> None:
    """Do nothing: a pipe has no typed-ahead input to drop, and nobody to call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The input and outputs of a terminal.

    `read`: returns the next line, or None at the end of input.
    `write`: writes text for people. `emit`: writes JSON for programs.
    `can_ask`: the input is interactive. `is_live`: the output is a terminal.
    `screen`: a terminal with colours, which has a spinner, a pager, and keys that answer without Enter; else None.
    `call`: rings the terminal's bell, unless the person typed a line a moment ago.
    `forget`: drops lines typed so far. It is called before each prompt, because older lines must not answer the prompt.
    """

    read: Read
    write: Write
    emit: Write | None = None
    look: Look = PLAIN
    can_ask: bool = False
    is_live: bool = False
    screen: RichTerminal | None = None
    call: Callable[[], None] = _nothing
    forget: Callable[[], None] = _nothing

    def say(self, text: str) -> None:
        """Write a message."""
        self.write(said_text(text, self.look))

    def ask(self, text: str, keys: str = "") -> None:
        """Write what can be typed now, and the input prompt. `keys`: those that answer without Enter."""
        if self.screen:
            self.screen.offer(keys)
        self.write(prompt_text(text, self.look))


@dataclass(slots=True)
class Keyboard:
    """Reads lines of a file descriptor in daemon threads, which do not delay the exit of the process.

    The threads read the descriptor unbuffered and not `sys.stdin`: a thread that waits in `sys.stdin` holds its lock,
    and then the process does not exit cleanly.
    """

    descriptor: int
    typed_at: float = -math.inf  # seconds of the monotonic clock

    async def line(self) -> str | None:
        """The next line without its line end, or None at the end of input."""
        loop = asyncio.get_running_loop()
        lines = asyncio.Queue[bytes]()

        def fetch() -> None:
            line = b""
            with suppress(OSError):
                line = FileIO(self.descriptor, closefd=False).readline()
            with suppress(RuntimeError):  # the loop was closed while the person typed
                loop.call_soon_threadsafe(lines.put_nowait, line)

        threading.Thread(target=fetch, name="keyboard", daemon=True).start()
        line = await lines.get()
        self.typed_at = time.monotonic()
        return line.decode(errors="replace").removesuffix("\n").removesuffix("\r") if line else None


def bell(keyboard: Keyboard | RichTerminal, write: Write) -> Callable[[], None]:
    """A function that rings the terminal's bell if nobody typed a line in the last BELL_SECONDS."""

    def ring() -> None:
        if time.monotonic() - keyboard.typed_at >= BELL_SECONDS:
            write("\a")

    return ring


def standard(*, json: bool, history: Path) -> Streams:
    """Standard input and output; with `json`, text for people goes to standard error and JSON to standard output.

    `history`: the file of earlier lines, which a terminal offers again.
    """
    keyboard, people = Keyboard(0), sys.stderr if json else sys.stdout
    write = _writer(people)
    streams = Streams(
        read=keyboard.line,
        write=write,
        emit=_writer(sys.stdout) if json else None,
        look=look_of(people),
        can_ask=os.isatty(0),
        is_live=people.isatty(),
        call=bell(keyboard, write) if people.isatty() else _nothing,
        forget=flush_keys,
    )
    if json or not (streams.can_ask and streams.look.colour):
        return streams
    screen = RichTerminal(history)
    ring = bell(screen, lambda _bell: screen.console.bell())
    return replace(streams, read=screen.line, write=screen.write, call=ring, forget=screen.forget, screen=screen)


def look_of(stream: TextIO) -> Look:
    """The look for a stream: the terminal's width, and colour for a terminal unless NO_COLOR or TERM=dumb is set.

    It has a height only if somebody can type the key that shows all.
    """
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    width, height = shutil.get_terminal_size((MAX_WIDTH_CELLS, 24))
    is_asked = stream.isatty() and os.isatty(0)
    return Look(
        width=min(width, MAX_WIDTH_CELLS), height=height if is_asked else 0, colour=stream.isatty() and not is_plain
    )


def _writer(stream: TextIO) -> Write:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")

    def write(text: Text | str) -> None:
        try:
            stream.write(str(text))
            stream.flush()
        except BrokenPipeError:  # the reader is gone: drop further output, also at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    return write
