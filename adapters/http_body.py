"""Reading the body of an HTTP request: within a size and a time, and with every fault of the sender as an answer.

Used by all surfaces that are reached over HTTP. What a body means is read elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

BODY_TIMEOUT_SECONDS = 30.0
BODY_TIMEOUT = web.AppKey("body_timeout", float)  # seconds, where an application wants others


@asynccontextmanager
async def receive_within(request: web.Request) -> AsyncIterator[None]:
    """Bound the time for a body; raise HTTPRequestTimeout or HTTPBadRequest where no whole body comes."""
    seconds = request.config_dict.get(BODY_TIMEOUT, BODY_TIMEOUT_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        said = f"The request's body did not arrive within {seconds:g} seconds. Send it again.\n"
        raise _last(web.HTTPRequestTimeout(text=said)) from None
    except (ConnectionError, web.RequestPayloadError, HttpProcessingError):
        request.content.feed_eof()  # nothing more of it can be read
        raise _last(web.HTTPBadRequest(text="The request's body is incomplete or cannot be unpacked.\n")) from None


async def read_body(request: web.Request, max_bytes: int) -> bytes:
    """The bytes of the body, unparsed; raise HTTPRequestEntityTooLarge before more than `max_bytes` are kept."""
    if (request.content_length or 0) > max_bytes:
        raise web.HTTPRequestEntityTooLarge(max_bytes, request.content_length or 0)
    body = bytearray()
    async with receive_within(request):
        while chunk := await request.content.readany():
            body += chunk
            if len(body) > max_bytes:
                raise web.HTTPRequestEntityTooLarge(max_bytes, len(body))
    return bytes(body)


def _last(answer: web.HTTPException) -> web.HTTPException:
    """The answer as the last one on its connection: what follows on it is the rest of the body."""
    answer.force_close()
    return answer
