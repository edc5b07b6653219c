"""Decompresses HTTP bodies (gzip, deflate) with a size limit, against decompression bombs."""

import zlib
from collections.abc import AsyncIterable
from dataclasses import dataclass, field

from agent_core.errors import CommandError

ACCEPT_ENCODING = "gzip, deflate"  # what zlib can decompress with a limit
GZIP_OR_ZLIB, RAW_DEFLATE = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS


@dataclass(slots=True)
class Decompressor:
    """Reads and decompresses a response body. `name`: the host, for errors. `encoding`: the Content-Encoding header."""

    name: str
    encoding: str
    max_bytes: int
    _data: bytearray = field(default_factory=bytearray)
    _decompressor: "zlib._Decompress | None" = None

    def __post_init__(self) -> None:
        encoding = self.encoding.strip().lower()
        if encoding in ("", "identity"):
            return
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise CommandError(f"{self.name} packed its answer as {encoding[:40]!r}, which was not asked for.")
        self._decompressor = zlib.decompressobj(GZIP_OR_ZLIB)

    async def read_all(self, chunks: AsyncIterable[bytes]) -> bytes:
        """The whole body; raise CommandError if it is too long, corrupt or truncated."""
        try:
            async for chunk in chunks:
                self._feed(chunk)
        except zlib.error:
            raise CommandError(f"{self.name} sent something that cannot be unpacked.") from None
        if self._decompressor and self._data and not self._decompressor.eof:
            raise CommandError(f"What {self.name} sent ends too early.")
        return bytes(self._data)

    def _feed(self, chunk: bytes) -> None:
        if self._decompressor is None:
            self._add(chunk)
            return
        while chunk:
            self._add(self._decompress(chunk))
            chunk = self._decompressor.unconsumed_tail or self._next_member()

    def _decompress(self, chunk: bytes) -> bytes:
        decompressor = self._decompressor = self._decompressor or zlib.decompressobj(GZIP_OR_ZLIB)
        left = self.max_bytes - len(self._data) + 1
        try:
            return decompressor.decompress(chunk, left)
        except zlib.error:
            if self._data or self.encoding.strip().lower() != "deflate":
                raise
        # Some servers send raw deflate without the zlib header (RFC 9110, 8.4.1.2).
        self._decompressor = zlib.decompressobj(RAW_DEFLATE)
        return self._decompressor.decompress(chunk, left)

    def _next_member(self) -> bytes:
        """The remaining bytes if another gzip member follows the one that ended (RFC 1952), else no bytes."""
        if (
            self._decompressor is None
            or not self._decompressor.eof
            or not self._decompressor.unused_data.startswith(b"\x1f\x8b")
        ):
            return b""
        rest, self._decompressor = self._decompressor.unused_data, zlib.decompressobj(GZIP_OR_ZLIB)
        return rest

    def _add(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self.max_bytes:
            raise CommandError(f"What {self.name} sends is too much: more than {self.max_bytes:,} bytes when unpacked.")
