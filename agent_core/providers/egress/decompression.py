"""What an answer's body holds when unpacked, never more than was wanted."""

import zlib
from collections.abc import AsyncIterable
from dataclasses import dataclass, field

from agent_core.errors import CommandError

PACKED = "gzip, deflate"  # what is asked for: what can be unpacked with an end to it by the standard library
GZIP_OR_ZLIB, BARE = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS


@dataclass(slots=True)
class Decompressor:
    """Gathers a body. `name` is whose it is; `encoding` as its header says."""

    name: str
    encoding: str
    most: int
    _data: bytearray = field(default_factory=bytearray)
    _unpacking: "zlib._Decompress | None" = None

    def __post_init__(self) -> None:
        wanted = self.encoding.strip().lower()
        if wanted in ("", "identity"):
            return
        if wanted not in ("gzip", "x-gzip", "deflate"):
            raise CommandError(f"{self.name} packed its answer as {wanted[:40]!r}, which was not asked for.")
        self._unpacking = zlib.decompressobj(GZIP_OR_ZLIB)

    async def all_of(self, chunks: AsyncIterable[bytes]) -> bytes:
        """The whole body; raise CommandError when it is too long, cannot be unpacked or is cut off."""
        try:
            async for chunk in chunks:
                self._take(chunk)
        except zlib.error:
            raise CommandError(f"{self.name} sent something that cannot be unpacked.") from None
        if self._unpacking and self._data and not self._unpacking.eof:
            raise CommandError(f"What {self.name} sent ends too early.")
        return bytes(self._data)

    def _take(self, chunk: bytes) -> None:
        if self._unpacking is None:
            self._add(chunk)
            return
        while chunk:
            self._add(self._piece(chunk))
            chunk = self._unpacking.unconsumed_tail or self._next_member()

    def _piece(self, chunk: bytes) -> bytes:
        unpacking = self._unpacking = self._unpacking or zlib.decompressobj(GZIP_OR_ZLIB)
        room = self.most - len(self._data) + 1
        try:
            return unpacking.decompress(chunk, room)
        except zlib.error:
            if self._data or self.encoding.strip().lower() != "deflate":
                raise
        # Some servers say deflate and leave out zlib's own two bytes: RFC 9110, 8.4.1.2 tells of them.
        self._unpacking = zlib.decompressobj(BARE)
        return self._unpacking.decompress(chunk, room)

    def _next_member(self) -> bytes:
        """What follows the end of a gzip member: another one, as RFC 1952 allows; anything else is left."""
        if (
            self._unpacking is None
            or not self._unpacking.eof
            or not self._unpacking.unused_data.startswith(b"\x1f\x8b")
        ):
            return b""
        rest, self._unpacking = self._unpacking.unused_data, zlib.decompressobj(GZIP_OR_ZLIB)
        return rest

    def _add(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self.most:
            raise CommandError(f"What {self.name} sends is too much: more than {self.most:,} bytes when unpacked.")
