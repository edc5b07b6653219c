"""What a platform answers, read up to a limit and no further."""

from aiohttp import ClientResponse

CHUNK_BYTES = 65_536


class ReplyTooLong(Exception):
    """A reply has more bytes than were allowed."""


async def read_limited(reply: ClientResponse, max_bytes: int) -> bytes:
    """The whole body, unpacked; raise ReplyTooLong as soon as there is more of it."""
    body = bytearray()
    async for chunk in reply.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise ReplyTooLong
    return bytes(body)
