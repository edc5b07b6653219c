"""Size limits for HTTP responses of configured services, checked while a response is read."""

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse

CHUNK_BYTES = 65_536
EVENT_STREAM = "text/event-stream"  # the media type of server-sent events
MAX_JSON_BYTES = 2_000_000  # search hits, a transcription, the answer to a post
MAX_CHAT_BYTES = 8_000_000
MAX_EMBEDDINGS_BYTES = 32_000_000  # 256 vectors of 4,096 decimal numbers
MAX_MEDIA_BYTES = 40 * 2**20  # an image of 20 MB as base64, and a margin


class ReplyTooLong(Exception):
    """A response, or the `unit` of it that is named, has more than `max_bytes` bytes."""

    def __init__(self, max_bytes: int, unit: str = "reply") -> None:
        self.max_bytes, self.unit = max_bytes, unit
        super().__init__(f"The {unit} is longer than {max_bytes:,} bytes.")


async def read_limited(response: "ClientResponse", max_bytes: int) -> bytes:
    """Read the decompressed body; raise ReplyTooLong if it exceeds `max_bytes`."""
    return await join_limited(response.content.iter_chunked(CHUNK_BYTES), max_bytes)


async def join_limited(chunks: AsyncIterable[bytes], max_bytes: int, unit: str = "reply") -> bytes:
    """All chunks as one; raise ReplyTooLong as soon as they exceed the limit."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise ReplyTooLong(max_bytes, unit)
    return bytes(body)
