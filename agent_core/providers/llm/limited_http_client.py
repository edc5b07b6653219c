"""HTTP client for the SDKs of models that limits responses, their events and silences, and follows no foreign redirect.

The SDKs' decoders of server-sent events copy an event for each of its lines, so they are given whole events of a
limited number of lines.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from httpx2 import AsyncByteStream, AsyncClient, Limits

from agent_core.providers.limited_replies import EVENT_STREAM, ReplyTooLong, join_limited
from agent_core.providers.llm.endpoint_errors import RedirectedElsewhere

MAX_STREAM_BYTES = 128_000_000  # 128,000 tokens in events of 400 bytes come to 51 MB
MAX_LIST_BYTES = 4_000_000  # of a list of models; OpenRouter's, with hundreds of models, has less than 1 MB
MAX_EVENT_BYTES, MAX_EVENT_LINES = 1_000_000, 1_000
EVENT_ENDS = (b"\r\r", b"\n\n", b"\r\n\r\n")  # as the SDKs' decoders see them
LINE_ENDS = (b"\n", b"\r")
PINGS_PER_STALL = 5  # a model that thinks without showing it sends only pings, for minutes
PING = (b"event: ping", b"event:ping")
CONNECTIONS = Limits(max_connections=1_000, max_keepalive_connections=100)  # as the SDKs' own clients
ENCODING_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


class EventBuffer:
    """Collects the parts of an event stream into whole events, in linear time."""

    def __init__(self) -> None:
        self.rest = bytearray()
        self._lines = 0

    def add(self, part: bytes) -> list[bytes]:
        """Return the events that this part completes; raise ReplyTooLong for one with too many bytes or lines."""
        events = []
        for line in part.splitlines(keepends=True):
            self.rest += line
            self._lines += line.endswith(LINE_ENDS)
            if self.rest.endswith(EVENT_ENDS):
                events.append(bytes(self.rest))
                self.rest.clear()
                self._lines = 0
            elif len(self.rest) > MAX_EVENT_BYTES or self._lines > MAX_EVENT_LINES:
                raise ReplyTooLong(MAX_EVENT_BYTES, "event")
        return events


class LimitedStream(AsyncByteStream):
    """A response stream of at most `max_bytes`, without a silence of more than `stall_seconds`.

    If it `has_events`, it yields whole events. With `needs_events`, pings and comments alone are borne five times as
    long.
    """

    def __init__(
        self, stream: Any, max_bytes: int, stall_seconds: float, *, has_events: bool, needs_events: bool
    ) -> None:
        self._stream, self._max_bytes, self._stall_seconds = stream, max_bytes, stall_seconds
        self._has_events, self._needs_events = has_events, needs_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive; raise ReplyTooLong, or TimeoutError after too long a silence."""
        size, waited, parts, buffer = 0, 0.0, aiter(self._stream), EventBuffer()
        while True:
            begun = time.monotonic()
            async with asyncio.timeout(min(self._stall_seconds, PINGS_PER_STALL * self._stall_seconds - waited)):
                try:
                    part = await anext(parts)
                except StopAsyncIteration:
                    break
            size += len(part)
            if size > self._max_bytes:
                raise ReplyTooLong(self._max_bytes)
            events = buffer.add(part) if self._has_events else [part]
            is_silent = self._has_events and self._needs_events and all(map(_is_empty, events))
            waited = waited + time.monotonic() - begun if is_silent else 0.0
            if events:
                yield b"".join(events)
        if buffer.rest:
            yield bytes(buffer.rest)

    async def aclose(self) -> None:
        await self._stream.aclose()


class LimitedClient(AsyncClient):
    """An SDK's HTTP client with a size limit: `max_reply_bytes` after decompression, MAX_STREAM_BYTES for a stream.

    A list of models may have MAX_LIST_BYTES.

    It follows redirects within the same host only: prompts are sent to no other host.
    """

    def __init__(self, max_reply_bytes: int, stall_seconds: float, *, needs_events: bool, **options: Any) -> None:
        hooks = {"response": [check_redirect]}
        super().__init__(follow_redirects=True, limits=CONNECTIONS, event_hooks=hooks, **options)
        self._max_reply_bytes, self._stall_seconds, self._needs_events = max_reply_bytes, stall_seconds, needs_events

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send the request. Raise ReplyTooLong if a whole response is too long; a stream raises it while it is read.

        Raise RedirectedElsewhere instead of following a redirect to another host.
        """
        if stream:
            request.headers["Accept-Encoding"] = "identity"
        response = await super().send(request, stream=True, **options)
        if stream:
            response.stream = LimitedStream(
                response.stream,
                MAX_STREAM_BYTES,
                self._stall_seconds,
                has_events=EVENT_STREAM in response.headers.get("content-type", ""),
                needs_events=self._needs_events,
            )
            return response
        try:
            body = await self._join_body(request, response)
        finally:
            await response.aclose()
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() not in ENCODING_HEADERS
        ]
        return type(response)(response.status_code, headers=headers, content=body, request=request)

    async def _join_body(self, request: Any, response: Any) -> bytes:
        if request.method == "GET" and request.url.path.endswith("/models"):
            return await join_limited(response.aiter_bytes(), MAX_LIST_BYTES, "list of models")
        return await join_limited(response.aiter_bytes(), self._max_reply_bytes)


def _is_empty(event: bytes) -> bool:
    """Whether the event is a ping, or has only comments."""
    lines = event.splitlines()
    return any(line.startswith(PING) for line in lines) or not any(line.startswith(b"data") for line in lines)


async def check_redirect(response: Any) -> None:
    """Raise RedirectedElsewhere if the response redirects to another host, or from https to http."""
    if not response.has_redirect_location:
        return
    source = response.request.url
    target = source.join(response.headers["location"])
    is_same = (target.scheme, target.host, target.port) == (source.scheme, source.host, source.port)
    is_made_secure = (source.scheme, target.scheme, target.host, target.port) == ("http", "https", source.host, None)
    if not (is_same or is_made_secure):
        raise RedirectedElsewhere(f"{target.scheme}://{target.netloc.decode(errors='replace')}")
