"""The door as an HTTP proxy on this machine, for programs that make requests of their own: Chromium and git.

They are given no other way out. What they ask for is checked as everything is, and connected to at the checked address.
A password keeps other programs on this machine from using it.
"""

import asyncio
import base64
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from agent_core.errors import CommandError
from agent_core.model.sites import Sites
from agent_core.ports.web import Address
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.urls import target_of
from agent_core.providers.egress.values import AdmittedTarget

HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 32_000
LONGEST_BODY = 2_000_000  # of a request: git tells what it has and wants, a page may send a form
MOST_AT_ONCE = 48
A_PIECE = 65_536
USER = "job"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
BETWEEN_HOPS = ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade", "host")


@dataclass(slots=True, kw_only=True)
class EgressProxy:
    """One job's way out. `most` bytes come in through it, then it is shut; `refusals` are what it did not let out.

    `reached` are the hosts that it connected to, in order.
    """

    door: EgressGateway
    sites: Sites
    most: int
    port: int = 0
    password: str = field(default_factory=secrets.token_urlsafe, repr=False)
    refusals: list[str] = field(default_factory=list)
    reached: list[Address] = field(default_factory=list)
    taken: int = 0
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def address(self) -> str:
        """Where it is, without the password."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def key_and_address(self) -> str:
        """Where it is, with the password: for the environment of a program, never for its arguments."""
        return f"http://{USER}:{self.password}@127.0.0.1:{self.port}"

    @property
    def is_shut(self) -> bool:
        """Whether too much came in."""
        return self.taken > self.most

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one connection to its end. Nothing that it does raises."""
        self._open.add(writer)
        try:
            await self._one(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # one side hung up, or sent a head without an end
        finally:
            self._open.discard(writer)
            writer.close()

    def shut(self) -> None:
        """Cut every connection."""
        for writer in tuple(self._open):
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self.door.patience.idle):
            head = (await reader.readuntil(HEAD_END)).decode("latin-1").split("\r\n")
        headers = _headers(head[1:])
        if len(self._open) > MOST_AT_ONCE or self.is_shut:
            await _answer(writer, "503 Service Unavailable")
            return
        if not self._knows(headers.get("proxy-authorization", "")):
            await _answer(writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="Signoff"\r\n')
            return
        method, _, rest = head[0].partition(" ")
        try:
            way = await self._way(method, rest.partition(" ")[0], headers)
            back, out = await self.door.connect(way)
        except CommandError as refusal:
            self.refusals.append(str(refusal))
            await _answer(writer, "403 Forbidden", body=str(refusal))
            return
        self._note(Address(way.target.host, str(out.get_extra_info("peername", ("",))[0])))
        await self._through(way, method, headers, (_Pipe(reader, out), _Pipe(back, writer)))

    def _note(self, address: Address) -> None:
        if address not in self.reached:
            self.reached.append(address)

    async def _through(
        self, way: AdmittedTarget, method: str, headers: dict[str, str], pipes: tuple["_Pipe", "_Pipe"]
    ) -> None:
        out, back = pipes
        self._open.add(out.target)
        try:
            if method == "CONNECT":
                back.target.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.target.write(_request(method, way, headers))
                out = replace(out, most=int(headers.get("content-length", "0")))
            await self._between(out, back)
        finally:
            self._open.discard(out.target)
            out.target.close()

    async def _way(self, method: str, asked: str, headers: dict[str, str]) -> AdmittedTarget:
        if method == "CONNECT":
            # What is inside cannot be seen, so the port alone tells the web from anything else.
            return await self.door.admit(f"https://{asked}/", self.sites)
        target = target_of(asked)
        length = headers.get("content-length", "0")
        if {"\r", "\n"} & set("".join((*headers, *headers.values()))):
            raise CommandError("A request with a line end inside a header is not let out.")
        if method not in METHODS or target.scheme != "http":
            raise CommandError(f"{method[:20]} is not let out.")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LONGEST_BODY:
            raise CommandError("A request of this size, or without one, is not let out.")
        return await self.door.admit_target(target, self.sites)

    async def _between(self, out: "_Pipe", back: "_Pipe") -> None:
        """Carry bytes both ways until what comes back has ended, or too much of it came."""
        sending = asyncio.create_task(self._carry(out, counted=False))
        try:
            await self._carry(back, counted=True)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _carry(self, pipe: "_Pipe", *, counted: bool) -> None:
        left = pipe.most
        while left is None or left > 0:
            chunk = await pipe.source.read(A_PIECE if left is None else min(A_PIECE, left))
            if not chunk:
                break
            self.taken += len(chunk) if counted else 0
            if self.is_shut:
                self.shut()
                return
            left = left if left is None else left - len(chunk)
            pipe.target.write(chunk)
            await pipe.target.drain()
        if left is None and pipe.target.can_write_eof():
            with suppress(OSError):
                pipe.target.write_eof()

    def _knows(self, given: str) -> bool:
        wanted = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        return hmac.compare_digest(given.partition(" ")[2].strip().encode(), wanted.encode())


@dataclass(frozen=True, slots=True)
class _Pipe:
    source: asyncio.StreamReader
    target: asyncio.StreamWriter
    most: int | None = None


@asynccontextmanager
async def open_tunnel(door: EgressGateway, sites: Sites, most: int) -> AsyncIterator[EgressProxy]:
    """A proxy for as long as the context lasts; then every connection through it is cut."""
    proxy, tasks = EgressProxy(door=door, sites=sites, most=most), set[asyncio.Task[None]]()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(take, "127.0.0.1", 0, limit=LONGEST_HEAD)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.shut()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _headers(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _request(method: str, way: AdmittedTarget, headers: dict[str, str]) -> bytes:
    """The request as a server wants it: the host of its own URL, one to a connection."""
    kept = {name: value for name, value in headers.items() if name not in BETWEEN_HOPS}
    lines = (f"{name}: {value}" for name, value in {"host": way.target.place, "connection": "close", **kept}.items())
    return "\r\n".join((f"{method} {way.target.rest} HTTP/1.1", *lines, "", "")).encode("latin-1", "replace")


async def _answer(writer: asyncio.StreamWriter, status: str, headers: str = "", body: str = "") -> None:
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(data)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + data)
    await writer.drain()
