"""What a program prints: its beginning and its end are kept, all of it is counted."""

from dataclasses import dataclass, field

KEPT_FIRST, KEPT_LAST = 6_000, 14_000
LIVE = 1_500


@dataclass(slots=True)
class ProgramOutput:
    """Bytes as they come, kept in bounded space."""

    kept_first: int = KEPT_FIRST
    kept_last: int = KEPT_LAST
    total: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Take what was printed next."""
        self.total += len(data)
        room = self.kept_first - len(self._first)
        self._first += data[:room]
        self._last += data[room:]
        if len(self._last) > 2 * self.kept_last:
            del self._last[: -self.kept_last]

    @property
    def text(self) -> str:
        """All of it, or its beginning and its end with what was left out between them."""
        last = self._last[-self.kept_last :]
        left_out = self.total - len(self._first) - len(last)
        if left_out <= 0:
            return _text(self._first + last)
        first = self._first.decode(errors="replace").rstrip("\ufffd")
        return f"{first}\n(… {left_out:,} bytes are left out here …)\n{_text(_from_whole(last))}"

    def newest(self, most: int = LIVE) -> str:
        """The last characters of it."""
        kept = self._first + self._last if len(self._last) < most * 4 else self._last
        return _text(_from_whole(kept[-most * 4 :]))[-most:]


def _text(data: bytes | bytearray) -> str:
    return data.decode(errors="replace")


def _from_whole(data: bytearray) -> bytearray:
    """Without the rest of a character that was cut off before."""
    begins = next((place for place, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    return data[begins:]
