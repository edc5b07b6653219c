"""The SDK's transport over HTTP with limits on one answer, and on all that arrives between two requests."""

import json
from collections.abc import AsyncIterator
from functools import cache
from ssl import SSLContext

import httpx2
from httpx2 import AsyncBaseTransport, AsyncByteStream, AsyncHTTPTransport, Request, Response

from agent_core.capabilities.tool_servers.flow_limit import FlowLimit, TooMuchSent
from agent_core.ports.tool_servers import RemoteAddress
from agent_core.providers.limited_replies import EVENT_STREAM
from agent_core.providers.outbound_proxy import proxy_for

UNAUTHORIZED = 401
FIELD = b"\ndata:"  # a message in a stream of events
CONNECT_SECONDS, READ_SECONDS = 30.0, 3_600.0  # a call's own limit is that of its caller


NOT_LET_IN = 'let nobody in without a key (401): its entry needs "headers" with one, or "oauth": true'
KEY_REFUSED = 'did not take the key in the "headers" of its entry (401): it may have ended'


def limited_client(address: RemoteAddress, limit: FlowLimit, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """An HTTP client for one server. What is compressed is refused, since its size is only known afterwards."""
    refusal = "" if auth else KEY_REFUSED if address.headers else NOT_LET_IN
    inner = AsyncHTTPTransport(verify=tls_context(), proxy=proxy_for(address.url))
    transport = CountingTransport(inner, limit, refusal)
    headers = {**address.headers, "accept-encoding": "identity"}
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    return httpx2.AsyncClient(transport=transport, headers=headers, timeout=timeout, auth=auth)


@cache
def tls_context() -> SSLContext:
    """Made once: to read the certificates of all authorities holds up the event loop for tens of milliseconds."""
    return httpx2.create_ssl_context()


class CountingTransport(AsyncBaseTransport):
    """Counts the bytes of every answer as they arrive. `refusal`: what a 401 means, "" where it begins a sign-in."""

    def __init__(self, inner: AsyncHTTPTransport, limit: FlowLimit, refusal: str = "") -> None:
        self.inner, self.limit, self.refusal = inner, limit, refusal

    async def handle_async_request(self, request: Request) -> Response:
        if request.method == "POST" and _asks(request):
            self.limit.restart()
        response = await self.inner.handle_async_request(request)
        if response.status_code == UNAUTHORIZED and self.refusal:
            self.limit.exceeded(self.refusal)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            self.limit.exceeded("sent a compressed answer, although that was not asked for")
            raise httpx2.ReadError("The answer is compressed.", request=request)
        is_stream = EVENT_STREAM in response.headers.get("content-type", "")
        response.stream = CountedBody(response.stream, self.limit, request, is_stream=is_stream)
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


class CountedBody(AsyncByteStream):
    """The body of an answer; raises ReadError as soon as it is too long."""

    def __init__(self, inner: object, limit: FlowLimit, request: Request, *, is_stream: bool) -> None:
        if not isinstance(inner, AsyncByteStream):
            raise TypeError("This is not the body of an answer that arrives.")
        self.inner, self.limit, self.request, self.is_stream = inner, limit, request, is_stream
        self.last = b"\n"  # what a line may begin with in the next chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self.inner:
                size += len(chunk)
                self.limit.count(len(chunk), messages=self._begun(chunk))
                if not self.is_stream:
                    self.limit.require_message(size)
                yield chunk
        except TooMuchSent as refused:
            raise httpx2.ReadError(f"The server {refused}.", request=self.request) from None

    async def aclose(self) -> None:
        await self.inner.aclose()

    def _begun(self, chunk: bytes) -> int:
        """How many messages of a stream begin up to the end of this chunk, and were not counted before."""
        if not self.is_stream:
            return 0
        read = (self.last + chunk).replace(b"\r", b"\n")
        self.last = read[1 - len(FIELD) :]
        return read.count(FIELD)


def _asks(request: Request) -> bool:
    """Whether this asks for something, other than an answer to what the server asked."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return False
    return isinstance(message, dict) and {"id", "method"} <= message.keys()
