"""Bounded buffer for a program's output: keeps its beginning and its end, and counts all bytes."""

from dataclasses import dataclass, field

HEAD_BYTES, TAIL_BYTES = 6_000, 14_000
LIVE_CHARACTERS = 1_500


@dataclass(slots=True)
class ProgramOutput:
    """The output of a program; a long one is truncated in the middle."""

    head_bytes: int = HEAD_BYTES
    tail_bytes: int = TAIL_BYTES
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self.tail_bytes:
            del self._tail[: -self.tail_bytes]

    @property
    def text(self) -> str:
        """The output; if it is truncated, with a note of how many bytes are left out."""
        tail = self._tail[-self.tail_bytes :]
        omitted = self.total - len(self._head) - len(tail)
        if omitted <= 0:
            return _text(self._head + tail)
        head = self._head.decode(errors="replace").rstrip("\ufffd")
        return f"{head}\n(… {omitted:,} bytes are left out here …)\n{_text(_drop_partial_character(tail))}"

    def newest(self, most: int = LIVE_CHARACTERS) -> str:
        """The last `most` characters."""
        kept = self._head + self._tail if len(self._tail) < most * 4 else self._tail
        return _text(_drop_partial_character(kept[-most * 4 :]))[-most:]


def _text(data: bytes | bytearray) -> str:
    return data.decode(errors="replace")


def _drop_partial_character(data: bytearray) -> bytearray:
    """The data without UTF-8 continuation bytes at its beginning: their first byte was cut off."""
    start = next((place for place, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    return data[start:]
