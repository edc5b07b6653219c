"""Reads an HTTP response of a chat platform up to a size limit."""

from aiohttp import ClientResponse

CHUNK_BYTES = 65_536


class ReplyTooLong(Exception):
    """A response is larger than allowed."""


async def read_limited(reply: ClientResponse, max_bytes: int) -> bytes:
    """The decompressed body; raise ReplyTooLong as soon as it exceeds `max_bytes`."""
    body = bytearray()
    async for chunk in reply.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise ReplyTooLong
    return bytes(body)
