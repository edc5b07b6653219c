"""Web sites over real sockets on this machine: ordinary, hostile, and forbidden ones.

`127.0.0.2` plays the open internet: egress gateways in tests may reach it, and names resolve to it. `127.0.0.1` remains
the local machine.
"""

import asyncio
import gzip
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.packages import need

OPEN = "127.0.0.2"
HERE = "127.0.0.1"
NAME = "example.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Raw: TypeAlias = bytes | Callable[[Request], AsyncIterator[bytes]]


@dataclass(slots=True)
class Site:
    """Serves `answers` by path, byte for byte; other paths are 404."""

    host: str
    port: int = 0
    answers: dict[str, Raw] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str = "/", name: str = NAME) -> str:
        return f"http://{name}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._one(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client closed the connection
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        self.requests.append(request)
        plain = request.path.partition("?")[0]
        folder = next((at for at in self.answers if at.endswith("/*") and plain.startswith(at[:-1])), plain)
        answer = self.answers.get(plain, self.answers.get(folder, page("Not found", status=404)))
        async for chunk in _chunks(answer, request):
            writer.write(chunk)
            await writer.drain()


def page(
    body: str | bytes, kind: str = "text/html; charset=utf-8", *, status: int = 200, **headers: str | None
) -> bytes:
    """A complete HTTP answer; a header given as None is left out."""
    data = body.encode() if isinstance(body, str) else body
    every = {"Content-Type": kind or None, "Content-Length": str(len(data)), "Connection": "close"}
    every |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items() if value is not None)
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + data


def leads_to(location: str, status: int = 302) -> bytes:
    """A redirect."""
    return page("", status=status, location=location)


def packed(body: bytes, times: int = 1) -> bytes:
    """A page compressed with gzip, `times` times."""
    for _ in range(times):
        body = gzip.compress(body)
    return page(body, content_encoding=", ".join(["gzip"] * times))


def endless(first: bytes, more: bytes) -> Raw:
    """An answer that continues until the client closes the connection."""

    async def goes_on(_request: Request) -> AsyncIterator[bytes]:
        yield first
        while True:
            yield more

    return goes_on


def dripping(first: bytes, more: bytes = b"x", every: float = 0.02) -> Raw:
    """An answer that is sent byte by byte."""

    async def drips(_request: Request) -> AsyncIterator[bytes]:
        yield first
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), every)
            yield more

    return drips


def git_backend(root: Path) -> Raw:
    """The repositories below a folder, served by `git http-backend`; raise NotInstalled without git."""
    need("git")

    async def serves(request: Request) -> AsyncIterator[bytes]:
        path, _, query = request.path.partition("?")
        program = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "REQUEST_METHOD": request.method,
                "PATH_INFO": path.removeprefix("/git"),
                "QUERY_STRING": query,
                "CONTENT_TYPE": request.headers.get("content-type", ""),
                "CONTENT_LENGTH": str(len(request.body)),
                "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
                "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
            },
        )
        said, _ = await program.communicate(request.body)
        head, _, body = said.partition(b"\r\n\r\n")
        status = next((line[8:] for line in head.split(b"\r\n") if line.startswith(b"Status: ")), b"200 OK")
        yield b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n" + head + b"\r\n\r\n" + body

    return serves


@dataclass(slots=True)
class Names:
    """A fake resolver: each query of a name gets its next answer, the last one repeatedly. Records the queries."""

    answers: dict[str, list[Sequence[str]]] = field(default_factory=lambda: {NAME: [[OPEN]]})
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str) -> Sequence[str]:
        """The addresses of a name; raise OSError for an unknown one."""
        self.asked.append(host)
        left = self.answers.get(host)
        if left is None:
            raise OSError(f"no {host}")
        return left.pop(0) if len(left) > 1 else left[0]


@asynccontextmanager
async def site(
    host: str = OPEN, port: int = 0, *, tls: ssl.SSLContext | None = None, **answers: Raw
) -> AsyncIterator[Site]:
    """Serve a site inside a with-block; paths may be given as keyword names."""
    stands = Site(host, answers={f"/{name}": answer for name, answer in answers.items()})
    tasks: set[asyncio.Task[None]] = set()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(stands.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(take, host, port, ssl=tls)
    stands.port = server.sockets[0].getsockname()[1]
    try:
        yield stands
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def two_sites() -> AsyncIterator[tuple[Site, Site]]:
    """A site on the open internet, and one at the same port of the local machine that must not be reached."""
    async with AsyncExitStack() as stack:
        victim = await stack.enter_async_context(site(HERE))
        try:
            open_site = await stack.enter_async_context(site(OPEN, victim.port))
        except OSError:  # another test has this port there: a second try gets another one
            victim = await stack.enter_async_context(site(HERE))
            open_site = await stack.enter_async_context(site(OPEN, victim.port))
        victim.answers = {"/*": page("the inner secret")}
        yield open_site, victim


def self_signed(folder: Path) -> ssl.SSLContext:
    """A self-signed certificate for the site's name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    start = datetime(2020, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + timedelta(days=36_500))
    certificate = made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "site.pem").write_bytes(secret + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "site.pem")
    return context


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    if headers.get("transfer-encoding") == "chunked":
        body = await _chunked(reader)
    return Request(method=method, path=path, headers=headers, body=body)


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    return body


async def _chunks(answer: Raw, request: Request) -> AsyncIterator[bytes]:
    if isinstance(answer, bytes):
        yield answer
        return
    async for chunk in answer(request):
        yield chunk
