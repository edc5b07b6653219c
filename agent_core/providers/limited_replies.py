"""Replies of services that Signoff asks: what is longer than it can rightly be is cut off before it is parsed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse

CHUNK_BYTES = 65_536
MAX_JSON_BYTES = 2_000_000  # search hits, a transcription, the answer to a post
MAX_CHAT_BYTES = 8_000_000
MAX_EMBEDDINGS_BYTES = 32_000_000  # 256 vectors of 4,096 numbers, written out
MAX_MEDIA_BYTES = 40 * 2**20  # a picture of 20 MB as base64, and then some


class ReplyTooLong(Exception):
    """A service sent more bytes than its reply may have; `max_bytes` were allowed."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        super().__init__(f"The reply is longer than {max_bytes:,} bytes.")


async def read_limited(response: "ClientResponse", max_bytes: int) -> bytes:
    """The whole body, unpacked; raise ReplyTooLong as soon as there is more of it."""
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise ReplyTooLong(max_bytes)
    return bytes(body)
