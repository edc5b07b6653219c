"""The egress gateway as a local HTTP proxy, for programs that make their own requests: Chromium and git.

These programs have no other network access. The gateway checks each request, and the proxy connects only to a checked
address. It forwards GET, HEAD, POST and OPTIONS over plain http; of an https connection (CONNECT) it sees host and port
only. A password keeps other local programs from using the proxy.
"""

import asyncio
import base64
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import ContactedHost
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.urls import parse_url
from agent_core.providers.egress.values import AdmittedTarget

HEAD_END = b"\r\n\r\n"
MAX_HEADER_BYTES = 32_000
MAX_REQUEST_BYTES = 2_000_000  # of a request: git negotiation, or a form of a page
MAX_CONNECTIONS = 48
CHUNK_BYTES = 65_536
USER = "job"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
HOP_BY_HOP_HEADERS = ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade", "host")


@dataclass(slots=True, kw_only=True)
class EgressProxy:
    """A proxy for one program. It aborts all connections once it has received `max_bytes` bytes from servers.

    `refusals`: error messages of refused requests.
    `reached`: the hosts that it connected to, in order.
    """

    gateway: EgressGateway
    sites: Sites
    max_bytes: int
    port: int = 0
    password: str = field(default_factory=secrets.token_urlsafe, repr=False)
    refusals: list[str] = field(default_factory=list)
    reached: list[ContactedHost] = field(default_factory=list)
    received_bytes: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The proxy's URL without the password."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url_with_credentials(self) -> str:
        """The proxy's URL with the password: for the environment of a program, never for its arguments."""
        return f"http://{USER}:{self.password}@127.0.0.1:{self.port}"

    @property
    def is_over_limit(self) -> bool:
        return self.received_bytes > self.max_bytes

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client connection in a task of its own, which `close` ends."""
        task = asyncio.get_running_loop().create_task(self.serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self.abort_connections()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one client connection. Never raises."""
        self._writers.add(writer)
        try:
            await self._handle(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # connection closed, or an oversized header
        finally:
            self._writers.discard(writer)
            writer.close()

    def abort_connections(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self.gateway.timeouts.idle):
            head = (await reader.readuntil(HEAD_END)).decode("latin-1").split("\r\n")
        headers = _headers(head[1:])
        if len(self._writers) > MAX_CONNECTIONS or self.is_over_limit:
            await _respond(writer, "503 Service Unavailable")
            return
        if not self._is_authorised(headers.get("proxy-authorization", "")):
            await _respond(writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="Signoff"\r\n')
            return
        method, _, rest = head[0].partition(" ")
        try:
            admitted = await self._admit(method, rest.partition(" ")[0], headers)
            back, out = await self.gateway.connect(admitted)
        except CommandError as refusal:
            self.refusals.append(str(refusal))
            await _respond(writer, "403 Forbidden", body=str(refusal))
            return
        contacted = ContactedHost(admitted.target.host, str(out.get_extra_info("peername", ("",))[0]))
        if contacted not in self.reached:
            self.reached.append(contacted)
        await self._forward(admitted, method, headers, (_Pipe(reader, out), _Pipe(back, writer)))

    async def _forward(
        self, admitted: AdmittedTarget, method: str, headers: dict[str, str], pipes: tuple["_Pipe", "_Pipe"]
    ) -> None:
        out, back = pipes
        self._writers.add(out.target)
        try:
            if method == "CONNECT":
                back.target.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.target.write(_request(method, admitted, headers))
                out = replace(out, max_bytes=int(headers.get("content-length", "0")))
            await self._relay(out, back)
        finally:
            self._writers.discard(out.target)
            out.target.close()

    async def _admit(self, method: str, asked: str, headers: dict[str, str]) -> AdmittedTarget:
        if method == "CONNECT":
            # The tunnel is encrypted: only host and port can be checked.
            return await self.gateway.admit(f"https://{asked}/", self.sites)
        target = parse_url(asked)
        length = headers.get("content-length", "0")
        if {"\r", "\n"} & set("".join((*headers, *headers.values()))):
            raise CommandError("A request with a line end inside a header is not let out.")
        if method not in METHODS or target.scheme != "http":
            raise CommandError(f"{method[:20]} is not let out.")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
            raise CommandError("A request of this size, or without one, is not let out.")
        return await self.gateway.admit_target(target, self.sites)

    async def _relay(self, out: "_Pipe", back: "_Pipe") -> None:
        """Copy bytes in both directions until the response ends or the limit is exceeded."""
        sending = asyncio.create_task(self._copy(out, counted=False))
        try:
            await self._copy(back, counted=True)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _copy(self, pipe: "_Pipe", *, counted: bool) -> None:
        left = pipe.max_bytes
        while left is None or left > 0:
            chunk = await pipe.source.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left))
            if not chunk:
                break
            self.received_bytes += len(chunk) if counted else 0
            if self.is_over_limit:
                self.abort_connections()
                return
            left = left if left is None else left - len(chunk)
            pipe.target.write(chunk)
            await pipe.target.drain()
        if left is None and pipe.target.can_write_eof():
            with suppress(OSError):
                pipe.target.write_eof()

    def _is_authorised(self, given: str) -> bool:
        wanted = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        return hmac.compare_digest(given.partition(" ")[2].strip().encode(), wanted.encode())


@dataclass(frozen=True, slots=True)
class _Pipe:
    source: asyncio.StreamReader
    target: asyncio.StreamWriter
    max_bytes: int | None = None


@asynccontextmanager
async def open_tunnel(gateway: EgressGateway, sites: Sites, max_bytes: int) -> AsyncIterator[EgressProxy]:
    """Start a proxy on a free port of loopback, for the duration of the with-block."""
    proxy = EgressProxy(gateway=gateway, sites=sites, max_bytes=max_bytes)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=MAX_HEADER_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()


def _headers(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _request(method: str, admitted: AdmittedTarget, headers: dict[str, str]) -> bytes:
    """The request line and headers for the origin server, with `Connection: close`."""
    kept = {name: value for name, value in headers.items() if name not in HOP_BY_HOP_HEADERS}
    lines = (
        f"{name}: {value}" for name, value in {"host": admitted.target.netloc, "connection": "close", **kept}.items()
    )
    return "\r\n".join((f"{method} {admitted.target.path_and_query} HTTP/1.1", *lines, "", "")).encode(
        "latin-1", "replace"
    )


async def _respond(writer: asyncio.StreamWriter, status: str, headers: str = "", body: str = "") -> None:
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(data)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + data)
    await writer.drain()
