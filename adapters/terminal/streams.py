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
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TextIO, TypeAlias

from adapters.terminal.render import PLAIN, Look

Read: TypeAlias = Callable[[], Awaitable[str | None]]
Write: TypeAlias = Callable[[str], None]
CHUNK_BYTES = 65_536
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
    `call`: rings the terminal's bell, unless the person typed a line a moment ago.
    `forget`: drops lines typed so far. It is called before each prompt, because older lines must not answer the prompt.
    """

    read: Read
    write: Write
    emit: Write | None = None
    look: Look = PLAIN
    can_ask: bool = False
    is_live: bool = False
    call: Callable[[], None] = _nothing
    forget: Callable[[], None] = _nothing


@dataclass(slots=True)
class Keyboard:
    """Reads lines of a file descriptor in daemon threads, which do not delay the exit of the process.

    The threads read the descriptor and not `sys.stdin`: a thread that waits in `sys.stdin` holds its lock, and then
    the process does not exit cleanly.
    """

    descriptor: int
    typed_at: float = -math.inf  # seconds of the monotonic clock
    _rest: bytes = b""
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def line(self) -> str | None:
        """The next line without its line end, or None at the end of input."""
        loop = asyncio.get_running_loop()
        given: asyncio.Future[str | None] = loop.create_future()

        def fetch() -> None:
            line = self._fetch()
            with suppress(RuntimeError):  # the loop was closed while the person typed
                loop.call_soon_threadsafe(_give, given, line)

        threading.Thread(target=fetch, name="keyboard", daemon=True).start()
        return await given

    def forget(self) -> None:
        """Drop what was typed but not read yet; the input of a pipe is kept."""
        if os.isatty(self.descriptor):
            self._rest = b""
            with suppress(ImportError):
                import termios

                termios.tcflush(self.descriptor, termios.TCIFLUSH)

    def _fetch(self) -> str | None:
        with self._lock:
            while b"\n" not in self._rest and not self._ended:
                chunk = self._read()
                self._rest += chunk
                self._ended = not chunk
            if self._ended and not self._rest:
                return None
            line, _, self._rest = self._rest.partition(b"\n")
        self.typed_at = time.monotonic()
        return line.decode(errors="replace").removesuffix("\r")

    def _read(self) -> bytes:
        try:
            return os.read(self.descriptor, CHUNK_BYTES)
        except OSError:
            return b""


def bell(keyboard: Keyboard, write: Write) -> Callable[[], None]:
    """A function that rings the terminal's bell if nobody typed a line in the last BELL_SECONDS."""

    def ring() -> None:
        if time.monotonic() - keyboard.typed_at >= BELL_SECONDS:
            write("\a")

    return ring


def standard(*, json: bool) -> Streams:
    """Standard input and output; with `json`, text for people goes to standard error and JSON to standard output."""
    keyboard = Keyboard(0)
    people = sys.stderr if json else sys.stdout
    write = _writer(people)
    return Streams(
        read=keyboard.line,
        write=write,
        emit=_writer(sys.stdout) if json else None,
        look=look_of(people),
        can_ask=os.isatty(0),
        is_live=people.isatty(),
        call=bell(keyboard, write) if people.isatty() else _nothing,
        forget=keyboard.forget,
    )


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


def _give(wanted: asyncio.Future[str | None], line: str | None) -> None:
    if not wanted.done():
        wanted.set_result(line)


def _writer(stream: TextIO) -> Write:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")

    def write(text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:  # the reader is gone: drop further output, also at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    return write
