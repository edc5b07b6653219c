"""The messages of a transport, up to the first one with a list whose entries the SDK would check for too long."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
import mcp_types
from mcp.client._transport import ReadStream, TransportStreams
from mcp.shared.message import SessionMessage

from agent_core.providers.mcp.flow_limit import FlowLimit, TooMuchSent

Received = SessionMessage | Exception


@asynccontextmanager
async def check_messages(
    transport: AbstractAsyncContextManager[TransportStreams], limit: FlowLimit
) -> AsyncIterator[TransportStreams]:
    """The same transport, whose messages are looked at before the SDK checks them."""
    async with transport as (received, sent):
        yield CheckedStream(received, limit), sent


class CheckedStream:
    """Ends with the first message that is refused."""

    def __init__(self, inner: ReadStream[Received], limit: FlowLimit) -> None:
        self.inner, self.limit = inner, limit

    @property
    def last_context(self) -> object:
        """What the SDK asks of some streams."""
        return getattr(self.inner, "last_context", None)

    async def receive(self) -> Received:
        """The next message; raise EndOfStream if there is none."""
        received = await self.inner.receive()
        if isinstance(received, SessionMessage):
            try:
                self.limit.require_entries(_longest_list(received.message))
            except TooMuchSent:
                raise anyio.EndOfStream from None
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


def _longest_list(message: mcp_types.JSONRPCMessage) -> int:
    """The most entries of a list, such as the blocks of an answer, or the tools of a page."""
    body = getattr(message, "result", None) or getattr(message, "params", None)
    if not isinstance(body, dict):
        return 0
    lists = (value for name, value in body.items() if isinstance(value, list) and name != "structuredContent")
    return max(map(len, lists), default=0)
