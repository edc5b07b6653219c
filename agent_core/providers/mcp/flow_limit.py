"""Bounds what a tool server may send, before any of it is parsed."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.ports.clock import Clock

MAX_MESSAGE_BYTES = 4 * 2**20
MAX_PARTS = 30_000  # values in one message
MAX_ENTRIES = 1_000  # of a list in a message; the SDK takes up to 70 µs to check each
MAX_NESTED = 5_000  # of all lists in a message, also those in others
MAX_UNREAD = 1_000  # answers to the server that it has not read
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

    def require_parts(self, parts: int) -> None:
        """Raise TooMuchSent if one message has too many parts."""
        if parts > MAX_PARTS:
            self.refuse(f"sent a message of more than {MAX_PARTS:,} parts")

    def require_entries(self, entries: int) -> None:
        """Raise TooMuchSent if a list in a message is too long."""
        if entries > MAX_ENTRIES:
            self.refuse(f"sent a list of more than {MAX_ENTRIES:,} entries")

    def require_nested(self, entries: int) -> None:
        """Raise TooMuchSent if the lists in a message are too long together."""
        if entries > MAX_NESTED:
            self.refuse(f"sent lists of more than {MAX_NESTED:,} entries together")

    def require_read(self, unread: int) -> None:
        """Raise TooMuchSent if too many answers wait for the server."""
        if unread > MAX_UNREAD:
            self.refuse(f"does not read the answers to more than {MAX_UNREAD:,} questions")

    def refuse(self, what: str) -> None:
        """Tell what was too much, and raise TooMuchSent."""
        self.exceeded(what)
        raise TooMuchSent(what)


def parts_of(message: bytes) -> int:
    """How many values a JSON text has, at most, without parsing it; more than MAX_PARTS as soon as that is certain."""
    plain = message.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * (MAX_PARTS + 1):  # a part has a name and a value at most
        return MAX_PARTS + 1
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"[", b"{")))
