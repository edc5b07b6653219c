"""Reads the person's lines: one that a prompt waits for, or one that may come at any time while a command runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from adapters.screens.visible_text import visible
from adapters.terminal.streams import Streams


@dataclass(slots=True, kw_only=True)
class LineReader:
    """`announce`: says that a line is there that nobody waited for."""

    streams: Streams
    announce: Callable[[], None]
    is_halted: bool = False
    _reading: asyncio.Future[str | None] | None = None

    def halt(self) -> None:
        """End the wait for a line; there are no lines any more."""
        self.is_halted = True
        if self._reading:
            self._reading.cancel()

    async def line(self) -> str | None:
        """The next line; None at the end of input or after `halt`.

        At a terminal, a line that was typed before its prompt is dropped, as `forget` does.
        """
        if self.is_halted:
            return None
        if self._reading and self._reading.done() and self.streams.can_ask:
            self._reading = None
        reading = self._begun()
        reading.remove_done_callback(self._tell)
        try:
            line = await reading
        except asyncio.CancelledError:
            if self.is_halted:
                self.streams.write("" if self.streams.screen else "\n")  # else Ctrl-C leaves the cursor in its line
                return None
            raise
        self._reading = None
        self._echo(line)
        return line

    def watch(self) -> None:
        """Read a line in the background, and announce it."""
        if self.is_halted:
            return
        self._begun().add_done_callback(self._tell)

    def take(self, at_end: str) -> str | None:
        """The line that was announced, or `at_end` at the end of input; None if a prompt has taken it."""
        reading = self._reading
        if reading is None or not reading.done() or reading.cancelled():
            return None
        self._reading, line = None, reading.result()
        self._echo(line)
        return at_end if line is None else line

    def _begun(self) -> asyncio.Future[str | None]:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self.streams.read())
        return self._reading

    def _tell(self, reading: asyncio.Future[str | None]) -> None:
        if reading is self._reading and not reading.cancelled():
            self.announce()

    def _echo(self, line: str | None) -> None:
        if not self.streams.can_ask:  # input from a pipe is not echoed by a terminal
            self.streams.write(f"{visible(line or '')}\n")
