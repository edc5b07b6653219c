"""Connection limits and timeouts of the HTTP server.

aiohttp lets an incomplete request stay open for an hour and does not limit the number of connections. Requests are
handled in `bot.web`; `adapters.http_body` reads request bodies, with a timeout.
"""

import asyncio
import os
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.http_body import BODY_TIMEOUT, BODY_TIMEOUT_SECONDS
from agent_core.errors import SettingsError

GRACE_SECONDS = 2.0
MAX_CONNECTIONS = 1_000
MIN_CONNECTIONS = 16
LISTEN_BACKLOG = 1_024
IPV6_SITE_PREFIX = 64  # providers give each customer at least a /64 network
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Timeouts in seconds for a request's head, for its body and between requests; maximum number of connections.

    One address may hold half of the connections; a proxy on this machine may hold all of them.
    """

    head_seconds: float = 10.0
    body_seconds: float = BODY_TIMEOUT_SECONDS
    keepalive_seconds: float = 75.0  # longer than proxies keep a connection, so that the proxy closes it
    linger_seconds: float = 5.0
    connections: int = MAX_CONNECTIONS

    @classmethod
    def for_process(cls) -> "ServerLimits":
        """Allow as many connections as leave half of the process's file descriptors for other uses."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if descriptors == resource.RLIM_INFINITY:
            return cls()
        return cls(connections=max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, descriptors // 2)))

    @property
    def per_address(self) -> int:
        """The maximum of connections from one address."""
        return max(1, self.connections // 2)


class EvictableConnection(Protocol):
    """The part of a connection that ConnectionTable uses."""

    is_busy: bool

    def abort(self) -> None: ...


@dataclass(slots=True)
class ConnectionTable:
    """The open connections. If the table is full, it closes the idle connection that was opened first."""

    limits: ServerLimits
    _open: dict[EvictableConnection, str] = field(default_factory=dict)
    _by_source: Counter[str] = field(default_factory=Counter)

    def admit(self, connection: EvictableConnection, address: str) -> bool:
        """Add a connection; return False if the table is full and no idle connection can be closed."""
        source = source_of(address)
        if source and self._by_source[source] >= self.limits.per_address and not self._evict(source):
            return False
        if len(self._open) >= self.limits.connections and not self._evict():
            return False
        self._open[connection] = source
        self._by_source[source] += 1
        return True

    def release(self, connection: EvictableConnection) -> None:
        """Remove a connection; an unknown one is ignored."""
        source = self._open.pop(connection, None)
        if source is None:
            return
        self._by_source[source] -= 1
        if not self._by_source[source]:
            del self._by_source[source]

    def _evict(self, source: str | None = None) -> bool:
        for connection, its_source in self._open.items():
            if not connection.is_busy and source in (None, its_source):
                self.release(connection)
                connection.abort()
                return True
        return False


class HttpConnection(web.RequestHandler):
    """One client connection, served by aiohttp within the limits."""

    __slots__ = ("_head_timer", "_limits", "_peer", "_table", "is_busy")

    def __init__(self, server: web.Server, table: ConnectionTable, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._limits, self._table = table.limits, table
        self._head_timer: asyncio.TimerHandle | None = None
        self._peer: asyncio.BaseTransport | None = None
        self.is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timeout for the first request, or answer 503 if the table is full."""
        self._peer = transport
        if self._table.admit(self, _address_of(transport)):
            super().connection_made(transport)
            self._expect_head()
        elif isinstance(transport, asyncio.WriteTransport):
            transport.write(UNAVAILABLE)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Receive bytes; the first bytes of a request start its timeout."""
        if data and not self.is_busy and self._head_timer is None:
            self._expect_head()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._table.release(self)
        self._head_is_there()
        super().connection_lost(exc)

    async def finish_response(self, *answer: Any) -> tuple[web.StreamResponse, bool]:
        """Send the answer; then the connection is idle again."""
        try:
            return await super().finish_response(*answer)
        finally:
            self.is_busy = False

    def log_exception(self, *args: Any, **options: Any) -> None:
        """Log errors of Signoff's handlers. A malformed request is answered with 400 and not logged."""
        if not isinstance(options.get("exc_info"), HttpProcessingError | web.RequestPayloadError):
            super().log_exception(*args, **options)

    def begin_request(self) -> None:
        """Mark the connection as busy: the whole head of a request has arrived."""
        self.is_busy = True
        self._head_is_there()

    def abort(self) -> None:
        self._head_is_there()
        if isinstance(self._peer, asyncio.WriteTransport):
            self._peer.abort()

    def _expect_head(self) -> None:
        loop = asyncio.get_running_loop()
        self._head_timer = loop.call_later(self._limits.head_seconds, self._end_without_head)

    def _head_is_there(self) -> None:
        if self._head_timer:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_without_head(self) -> None:
        self._head_timer = None
        if isinstance(self._peer, asyncio.WriteTransport):
            self._peer.write(TIMED_OUT)
        self.force_close()


class LimitedSite(web.BaseSite):
    """Listens at a host and port like aiohttp's `TCPSite`, and enforces the limits."""

    __slots__ = ("_host", "_limits", "_port")

    def __init__(self, runner: web.AppRunner, host: str, port: int, limits: ServerLimits) -> None:
        super().__init__(runner)
        self._host, self._port, self._limits = host, port, limits

    @property
    def name(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen at the address.

        asyncio accepts up to `backlog` connections at a time. If file descriptors run out, each accept fails,
        is logged and is retried; in Python 3.11 the retries multiply until the event loop is busy with nothing
        else. So asyncio accepts one connection at a time, and the kernel's queue is set separately.
        """
        await super().start()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._factory(), self._host, self._port, backlog=1)
        self._server = server
        for listening in server.sockets:
            with socket.fromfd(listening.fileno(), listening.family, listening.type) as same:
                same.listen(LISTEN_BACKLOG)

    def _factory(self) -> Callable[[], HttpConnection]:
        server, table, limits = self._runner.server, ConnectionTable(self._limits), self._limits
        if server is None:
            raise RuntimeError("The runner is set up before its site.")
        server.request_handler = _announced(server.request_handler)
        times = {"keepalive_timeout": limits.keepalive_seconds, "lingering_time": limits.linger_seconds}
        return lambda: HttpConnection(server, table, access_log=None, **times)


@asynccontextmanager
async def serve_app(app: web.Application, host: str, port: int) -> AsyncIterator[None]:
    """Serve the application inside the `with` block; raise SettingsError if the port is in use."""
    limits = ServerLimits.for_process()
    app[BODY_TIMEOUT] = limits.body_seconds
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    try:
        try:
            await LimitedSite(runner, host, port, limits).start()
        except OSError as fault:
            said = f"{host}:{port} cannot be listened on ({os.strerror(fault.errno or 0)})."
            raise SettingsError("PORT", said, "8701") from fault
        yield
    finally:
        await runner.cleanup()


def source_of(address: str) -> str:
    """The key that counts connections per client: IPv4 address or IPv6 /64 network; "" for this machine (a proxy)."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(read, IPv6Address):
        if read.ipv4_mapped is None:
            return "" if read.is_loopback else str(ip_network((read, IPV6_SITE_PREFIX), strict=False))
        read = read.ipv4_mapped
    return "" if read.is_loopback else str(read)


def _announced(handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> Any:
    """Wrap the handler: before it runs, tell the connection that the head of the request is complete."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if isinstance(request.protocol, HttpConnection):
            request.protocol.begin_request()
        return await handler(request)

    return handle


def _address_of(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""
