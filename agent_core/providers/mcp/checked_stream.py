"""The messages of a transport, up to the first one that the SDK would check for too long, or that is not to be read.

The SDK makes a task of each request of a server, which waits until the server reads its answer: they are counted.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

from agent_core.providers.mcp.flow_limit import FlowLimit, TooMuchSent
from agent_core.providers.mcp.readable_results import ReadableResults

Received = SessionMessage | Exception
FREE = ("structuredContent", "inputSchema", "outputSchema", "requestedSchema", "arguments", "data", "_meta")


@asynccontextmanager
async def check_messages(
    transport: AbstractAsyncContextManager[TransportStreams], limit: FlowLimit, results: ReadableResults
) -> AsyncIterator[TransportStreams]:
    """The same transport, whose messages are looked at before the SDK checks them."""
    async with transport as (received, sent):
        yield CheckedStream(received, limit, results), CountedAnswers(sent, limit, results)


class CheckedStream:
    """Ends with the first message that is refused."""

    def __init__(self, inner: ReadStream[Received], limit: FlowLimit, results: ReadableResults) -> None:
        self.inner, self.limit, self.results = inner, limit, results

    @property
    def last_context(self) -> object:
        """What the SDK asks of some streams."""
        return getattr(self.inner, "last_context", None)

    async def receive(self) -> Received:
        """The next message; raise EndOfStream if there is none."""
        received = await self.inner.receive()
        if isinstance(received, SessionMessage):
            try:
                body = _body(received.message)
                self.limit.require_entries(_longest_list(body))
                self.limit.require_nested(_entries(body))
            except TooMuchSent:
                raise anyio.EndOfStream from None
            if isinstance(received.message, mcp_types.JSONRPCResponse):
                message = received.message
                message.result = self.results.readable(message.id, message.result)
            elif isinstance(received.message, mcp_types.JSONRPCError):
                self.results.asked.pop(received.message.id, None)
        return received

    async def aclose(self) -> None:
        """Close it."""
        await self.inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, at)


class CountedAnswers:
    """Passes messages on to the server, as long as not too many answers wait for it to read them."""

    def __init__(self, inner: WriteStream[SessionMessage], limit: FlowLimit, results: ReadableResults) -> None:
        self.inner, self.limit, self.results, self.waiting = inner, limit, results, 0

    async def send(self, item: SessionMessage, /) -> None:
        """Send it; raise ClosedResourceError for an answer that nobody would read."""
        if isinstance(item.message, mcp_types.JSONRPCRequest):
            self.results.asked[item.message.id] = item.message.method
        if not isinstance(item.message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            return await self.inner.send(item)
        self.waiting += 1
        try:
            self.limit.require_read(self.waiting)
            await self.inner.send(item)
        except TooMuchSent:
            raise anyio.ClosedResourceError from None
        finally:
            self.waiting -= 1

    async def aclose(self) -> None:
        """Close it."""
        await self.inner.aclose()

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, at)


def _body(message: mcp_types.JSONRPCMessage) -> dict[str, Any]:
    body = getattr(message, "result", None) or getattr(message, "params", None)
    return body if isinstance(body, dict) else {}


def _longest_list(body: dict[str, Any]) -> int:
    """The most entries of a list, such as the blocks of an answer, the tools of a page, or what is asked of people."""
    requests = body.get("inputRequests")
    lists = (value for name, value in body.items() if isinstance(value, list) and name not in FREE)
    return max(map(len, (*lists, requests if isinstance(requests, dict) else ())), default=0)


def _entries(part: object) -> int:
    """The entries of all lists, also of those in others; what is of no fixed form costs the SDK nothing."""
    match part:
        case list():
            return len(part) + sum(map(_entries, part))
        case dict():
            return sum(_entries(value) for name, value in part.items() if name not in FREE)
        case _:
            return 0
