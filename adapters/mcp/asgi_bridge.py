"""Hands a request of aiohttp to an ASGI application, and its answer back as it is made."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from aiohttp import ClientConnectionResetError, web

from agent_core.ports.clock import Clock

LOOK_SECONDS = 0.5  # how often a connection is looked at whose client may have left
Message: TypeAlias = MutableMapping[str, Any]
AsgiApp: TypeAlias = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request, whose body was read already, and its answer."""

    request: web.Request
    body: bytes
    clock: Clock
    is_read: bool = False
    response: web.StreamResponse | None = None

    @property
    def scope(self) -> dict[str, Any]:
        request = self.request
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "raw_path": request.rel_url.raw_path.encode(),
            "query_string": request.rel_url.raw_query_string.encode(),
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.raw_headers],
            "client": None,
            "server": None,
        }

    async def receive(self) -> Message:
        """The whole body; after that, the news that the client has left, as soon as that is so."""
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        while not self._is_left:
            await self.clock.sleep(LOOK_SECONDS)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send the head or a part of the answer; to a client that has left, nothing."""
        try:
            if message["type"] == "http.response.start":
                self.response = web.StreamResponse(status=message["status"])
                for name, value in message.get("headers", ()):
                    self.response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
                await self.response.prepare(self.request)
            elif self.response is not None:
                await self.response.write(message.get("body", b""))
                if not message.get("more_body", False):
                    await self.response.write_eof()
        except ClientConnectionResetError:
            return

    @property
    def _is_left(self) -> bool:
        transport = self.request.transport
        return transport is None or transport.is_closing()


async def answer(app: AsgiApp, request: web.Request, body: bytes, clock: Clock) -> web.StreamResponse:
    """The application's answer to the request, which was sent already."""
    exchange = Exchange(request=request, body=body, clock=clock)
    await app(exchange.scope, exchange.receive, exchange.send)
    return exchange.response or web.Response(status=500)
