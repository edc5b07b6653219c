"""Bounds what a tool server may send, before any of it is parsed."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.ports.clock import Clock

MAX_MESSAGE_BYTES = 4 * 2**20
MAX_BYTES, MAX_MESSAGES = 16 * 2**20, 5_000  # between two requests, or within WINDOW_SECONDS without one
WINDOW_SECONDS = 60.0


class TooMuchSent(Exception):
    """A server sent more than is read; the text completes "The server …"."""


@dataclass(slots=True)
class FlowLimit:
    """Counts what one connection received since the last request. `exceeded` is told what was too much, once."""

    clock: Clock
    exceeded: Callable[[str], None]
    received_bytes: int = 0
    received_messages: int = 0
    since: float = 0.0

    def restart(self) -> None:
        """Count from zero, because something was asked for."""
        self.received_bytes = self.received_messages = 0
        self.since = self.clock.elapsed()

    def count(self, size: int, messages: int = 0) -> None:
        """Count what was received; raise TooMuchSent if it is too much."""
        if self.clock.elapsed() - self.since > WINDOW_SECONDS:
            self.restart()
        self.received_bytes += size
        self.received_messages += messages
        if self.received_bytes > MAX_BYTES:
            self.refuse(f"sent more than {MAX_BYTES:,} bytes in one go")
        if self.received_messages > MAX_MESSAGES:
            self.refuse(f"sent more than {MAX_MESSAGES:,} messages in one go")

    def require_message(self, size: int) -> None:
        """Raise TooMuchSent if one message is too long."""
        if size > MAX_MESSAGE_BYTES:
            self.refuse(f"sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")

    def refuse(self, what: str) -> None:
        """Tell what was too much, and raise TooMuchSent."""
        self.exceeded(what)
        raise TooMuchSent(what)
