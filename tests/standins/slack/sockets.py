"""Socket Mode: sockets that say hello, get one envelope each, and are closed when Slack wants to."""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.standins.slack.state import Slack
from tests.standins.slack.values import Delivery, Json, Refused

LEAVING = 2.0  # seconds in which a client that was warned closes its socket itself
ENVELOPES = {"event": "events_api", "interaction": "interactive", "slash": "slash_commands"}


@dataclass(eq=False, slots=True)
class _Socket:
    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    waiting: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    is_gone: asyncio.Event = field(default_factory=asyncio.Event)

    def give_up(self) -> None:
        for ack in self.waiting.values():
            if not ack.done():
                ack.set_exception(ConnectionResetError("the socket was closed"))


class Sockets:
    """The open sockets of the app; they take turns."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.open: list[_Socket] = []
        self.is_away = False
        self._all: list[_Socket] = []
        self._tickets: set[str] = set()
        self._is_over = False

    def ticket(self, token: str) -> Json:
        """The answer of apps.connections.open: an address that is good for one socket."""
        if token != self.slack.app_token:
            raise Refused("invalid_auth")
        if self._is_over:
            raise Refused("internal_error")
        ticket = self.slack.new_id("ticket-")
        self._tickets.add(ticket)
        return {"ok": True, "url": f"{self.slack.base_url.replace('http', 'ws', 1)}/link/?ticket={ticket}"}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """GET /link."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=401)
        self._tickets.remove(ticket)
        response = web.WebSocketResponse(timeout=1)
        await response.prepare(request)
        socket = _Socket(response, request.transport)
        self._all.append(socket)
        self.open.append(socket)
        info = {"host": "applink", "build_number": 1, "approximate_connection_time": 18060}
        hello = {"type": "hello", "num_connections": len(self.open), "connection_info": {"app_id": self.slack.app_id}}
        await response.send_json({**hello, "debug_info": info})
        self.slack.changed()
        try:
            async for message in response:
                if message.type is WSMsgType.TEXT:
                    self._acknowledged(socket, json.loads(message.data))
        finally:
            self._leave(socket)
            self._all.remove(socket)
            socket.is_gone.set()
        return response

    async def send(self, delivery: Delivery) -> None:
        """Put it in an envelope for one of the sockets and wait until it is acknowledged.

        One that the app is closing takes nothing, so that the next one is tried.
        """
        if self.is_away or not self.open:
            raise ConnectionResetError("no socket is open")
        envelope_id = self.slack.new_id("envelope-")
        envelope: Json = {
            "envelope_id": envelope_id,
            "type": ENVELOPES[delivery.kind],
            "accepts_response_payload": delivery.kind != "event",
            "payload": delivery.payload,
        }
        if delivery.kind == "event":
            envelope |= {"retry_attempt": delivery.retry, "retry_reason": delivery.reason}
        ack: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        socket = await self._sent(envelope, ack)
        try:
            delivery.ack = await ack
            delivery.status = 200
        finally:
            socket.waiting.pop(envelope_id, None)

    async def _sent(self, envelope: Json, ack: "asyncio.Future[Json]") -> _Socket:
        """Send it through the first socket that takes it; raise ConnectionResetError if none does."""
        for _ in range(len(self.open)):
            self.open.append(socket := self.open.pop(0))
            socket.waiting[envelope["envelope_id"]] = ack
            try:
                await socket.socket.send_json(envelope)
            except ConnectionResetError:
                socket.waiting.pop(envelope["envelope_id"], None)
            else:
                return socket
        raise ConnectionResetError("no socket takes it")

    def leave(self) -> list[_Socket]:
        """Deliver through none of the sockets any more; gives them, to be closed."""
        left = list(self.open)
        for socket in left:
            self._leave(socket)
        return left

    async def drop(self, *, warn: bool = False, cut: bool = False) -> None:
        """Close all sockets: after a `disconnect` envelope, with a close frame alone, or without any."""
        for socket in self.leave():
            if warn:
                await _warn(socket)
            if cut and socket.transport:
                socket.transport.abort()
            else:
                await socket.socket.close()

    async def close_left(self, left: list[_Socket]) -> None:
        """Close those that nothing is delivered through any more."""
        for socket in left:
            await socket.socket.close()

    async def close(self) -> None:
        """Close what is open, for good."""
        self._is_over = True
        self.leave()
        for socket in list(self._all):
            await socket.socket.close()

    def _acknowledged(self, socket: _Socket, message: Json) -> None:
        ack = socket.waiting.get(message.get("envelope_id", ""))
        if ack and not ack.done():
            ack.set_result(message.get("payload", ""))

    def _leave(self, socket: _Socket) -> None:
        if socket in self.open:
            self.open.remove(socket)
        socket.give_up()
        self.slack.changed()


async def _warn(socket: _Socket) -> None:
    reason = {"type": "disconnect", "reason": "refresh_requested", "debug_info": {"host": "applink"}}
    await socket.socket.send_json(reason)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVING):
            await socket.is_gone.wait()
