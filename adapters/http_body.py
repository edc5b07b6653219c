"""Reads the bodies of HTTP requests and responses up to a size limit.

A request that is too large, too slow or incomplete raises an aiohttp HTTP error; a response that is too large raises
ReplyTooLong.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientResponse, web
from aiohttp.http_exceptions import HttpProcessingError

CHUNK_BYTES = 65_536
BODY_TIMEOUT_SECONDS = 30.0
BODY_TIMEOUT = web.AppKey("body_timeout", float)  # seconds; an application may set its own


class ReplyTooLong(Exception):
    """A response is larger than allowed."""


@asynccontextmanager
async def receive_within(request: web.Request) -> AsyncIterator[None]:
    """Limit the time to receive a body; raise HTTPRequestTimeout, or HTTPBadRequest for an incomplete body."""
    seconds = request.config_dict.get(BODY_TIMEOUT, BODY_TIMEOUT_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        said = f"The request's body did not arrive within {seconds:g} seconds. Send it again.\n"
        raise _last(web.HTTPRequestTimeout(text=said)) from None
    except (ConnectionError, web.RequestPayloadError, HttpProcessingError):
        request.content.feed_eof()  # the rest cannot be read
        raise _last(web.HTTPBadRequest(text="The request's body is incomplete or cannot be unpacked.\n")) from None


async def read_body(request: web.Request, max_bytes: int) -> bytes:
    """The raw body; raise HTTPRequestEntityTooLarge as soon as it exceeds `max_bytes`."""
    if (request.content_length or 0) > max_bytes:
        raise web.HTTPRequestEntityTooLarge(max_bytes, request.content_length or 0)
    body = bytearray()
    async with receive_within(request):
        while chunk := await request.content.readany():
            body += chunk
            if len(body) > max_bytes:
                raise web.HTTPRequestEntityTooLarge(max_bytes, len(body))
    return bytes(body)


async def read_limited(reply: ClientResponse, max_bytes: int) -> bytes:
    """The decompressed body of a response; raise ReplyTooLong as soon as it exceeds `max_bytes`."""
    body = bytearray()
    async for chunk in reply.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise ReplyTooLong
    return bytes(body)


def _last(answer: web.HTTPException) -> web.HTTPException:
    """Close the connection after this response: otherwise the unread rest of the body is taken for the next request."""
    answer.force_close()
    return answer
