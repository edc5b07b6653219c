"""The listening side of the HTTP server: how many connections there may be, and how long each may keep others waiting.

What aiohttp leaves open: half a request may stay for an hour, and nothing counts connections. What is answered is in
`bot.web`; bodies are read, and timed, by `adapters.http_body`.
"""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.http_body import BODY_TIMEOUT_SECONDS

MAX_CONNECTIONS = 1_000
MIN_CONNECTIONS = 16
LISTEN_BACKLOG = 1_024
IPV6_SITE_PREFIX = 64  # one customer of a provider has at least this many bits of addresses
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Seconds for the head of a request, for its body and between two requests; and connections in all.

    One address may hold half of the connections, and a proxy on this machine all of them.
    """

    head_seconds: float = 10.0
    body_seconds: float = BODY_TIMEOUT_SECONDS
    keepalive_seconds: float = 75.0  # longer than proxies keep a connection, so that they are who closes it
    linger_seconds: float = 5.0
    connections: int = MAX_CONNECTIONS

    @classmethod
    def for_process(cls) -> "ServerLimits":
        """As many connections as leave half of the process's descriptors for everything else."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if descriptors == resource.RLIM_INFINITY:
            return cls()
        return cls(connections=max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, descriptors // 2)))

    @property
    def per_address(self) -> int:
        """How many connections one address may hold."""
        return max(1, self.connections // 2)


class Closable(Protocol):
    """A connection as the table knows it."""

    is_busy: bool

    def abort(self) -> None:
        """Close it at once."""
        ...


@dataclass(slots=True)
class ConnectionTable:
    """Who is connected. When it is full, the connection that has been open longest without a request is closed."""

    limits: ServerLimits
    _open: dict[Closable, str] = field(default_factory=dict)
    _by_source: Counter[str] = field(default_factory=Counter)

    def admit(self, connection: Closable, address: str) -> bool:
        """Take a connection in; False where there is no room and none can be made."""
        source = source_of(address)
        if source and self._by_source[source] >= self.limits.per_address and not self._evict(source):
            return False
        if len(self._open) >= self.limits.connections and not self._evict():
            return False
        self._open[connection] = source
        self._by_source[source] += 1
        return True

    def release(self, connection: Closable) -> None:
        """Forget a connection; one that is not there is no error."""
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
    """One connection of a client, as aiohttp serves it, within the limits."""

    __slots__ = ("_head_timer", "_limits", "_peer", "_table", "is_busy")

    def __init__(self, server: web.Server, table: ConnectionTable, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._limits, self._table = table.limits, table
        self._head_timer: asyncio.TimerHandle | None = None
        self._peer: asyncio.BaseTransport | None = None
        self.is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request, or answer 503 where there is no room."""
        self._peer = transport
        if self._table.admit(self, _address_of(transport)):
            super().connection_made(transport)
            self._expect_head()
        elif isinstance(transport, asyncio.WriteTransport):
            transport.write(UNAVAILABLE)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the first of a request begin its time."""
        if data and not self.is_busy and self._head_timer is None:
            self._expect_head()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._table.release(self)
        self._head_is_there()
        super().connection_lost(exc)

    async def finish_response(self, *answer: Any) -> tuple[web.StreamResponse, bool]:
        """Send the answer; from then on the connection waits again."""
        try:
            return await super().finish_response(*answer)
        finally:
            self.is_busy = False

    def log_exception(self, *args: Any, **options: Any) -> None:
        """Log faults of our own; what a stranger sends that is no HTTP is answered with 400 and is no news."""
        if not isinstance(options.get("exc_info"), HttpProcessingError | web.RequestPayloadError):
            super().log_exception(*args, **options)

    def begin_request(self) -> None:
        """A whole head has come, and its request is being answered."""
        self.is_busy = True
        self._head_is_there()

    def abort(self) -> None:
        """Close the connection at once."""
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
    """Listens at a host and port, like aiohttp's own `TCPSite`, within the limits."""

    __slots__ = ("_host", "_limits", "_port")

    def __init__(self, runner: web.AppRunner, host: str, port: int, limits: ServerLimits) -> None:
        super().__init__(runner)
        self._host, self._port, self._limits = host, port, limits

    @property
    def name(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen.

        asyncio accepts up to `backlog` connections at a time, and where descriptors run out it fails, logs and retries
        as often: in Python 3.11 each retry begins as many again, until nothing else is done. So it accepts one at a
        time, and the kernel is told separately how many may wait.
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


def source_of(address: str) -> str:
    """Who is counted for an address: the address, in IPv6 its network; "" for this machine, where a proxy may be."""
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
    """The same handler, which first tells the connection that its request is whole."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if isinstance(request.protocol, HttpConnection):
            request.protocol.begin_request()
        return await handler(request)

    return handle


def _address_of(transport: asyncio.BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""
