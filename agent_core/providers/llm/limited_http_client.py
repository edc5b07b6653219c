"""HTTP client for the SDKs of models that limits the size of responses and the silence within a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from httpx2 import AsyncByteStream, AsyncClient, Limits

from agent_core.providers.limited_replies import ReplyTooLong, join_limited

MAX_STREAM_BYTES = 128_000_000  # 128,000 tokens in events of 400 bytes come to 51 MB
CONNECTIONS = Limits(max_connections=1_000, max_keepalive_connections=100)  # as the SDKs' own clients
ENCODING_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


class LimitedStream(AsyncByteStream):
    """A response stream of at most `max_bytes`, without a silence of more than `stall_seconds`."""

    def __init__(self, stream: Any, max_bytes: int, stall_seconds: float) -> None:
        self._stream, self._max_bytes, self._stall_seconds = stream, max_bytes, stall_seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive; raise ReplyTooLong, or TimeoutError after too long a silence."""
        size, parts = 0, aiter(self._stream)
        while True:
            async with asyncio.timeout(self._stall_seconds):
                try:
                    part = await anext(parts)
                except StopAsyncIteration:
                    return
            size += len(part)
            if size > self._max_bytes:
                raise ReplyTooLong(self._max_bytes)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class LimitedClient(AsyncClient):
    """An SDK's HTTP client with a size limit: `max_reply_bytes` after decompression, MAX_STREAM_BYTES for a stream."""

    def __init__(self, max_reply_bytes: int, stall_seconds: float, **options: Any) -> None:
        super().__init__(follow_redirects=True, limits=CONNECTIONS, **options)
        self._max_reply_bytes, self._stall_seconds = max_reply_bytes, stall_seconds

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send the request. Raise ReplyTooLong if a whole response is too long; a stream raises it while it is read."""
        if stream:
            request.headers["Accept-Encoding"] = "identity"
        response = await super().send(request, stream=True, **options)
        if stream:
            response.stream = LimitedStream(response.stream, MAX_STREAM_BYTES, self._stall_seconds)
            return response
        try:
            body = await join_limited(response.aiter_bytes(), self._max_reply_bytes)
        finally:
            await response.aclose()
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() not in ENCODING_HEADERS
        ]
        return type(response)(response.status_code, headers=headers, content=body, request=request)
