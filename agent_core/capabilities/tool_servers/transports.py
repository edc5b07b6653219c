"""Connects to tool servers by HTTP or a program that it starts; limits what they send before any of it is parsed.

The program runs with the rights of Signoff, since it is the operator's own, and is given few variables.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from httpx2 import AsyncBaseTransport, AsyncByteStream, AsyncHTTPTransport, Request, Response
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.database import finish_uncancelled
from agent_core.ports.tool_servers import LocalProgram, RemoteAddress
from agent_core.providers.limited_replies import EVENT_STREAM
from agent_core.providers.outbound_proxy import proxy_for
from agent_core.providers.process_end import close_pipes

MAX_MESSAGE_BYTES = 4 * 2**20
MAX_BYTES, MAX_MESSAGES = 16 * 2**20, 5_000  # between two requests, or within WINDOW_SECONDS without one
WINDOW_SECONDS = 60.0


class TooMuchSent(Exception):
    """A server sent more than is read; the text completes "The server …"."""


@dataclass(slots=True)
class FlowLimit:
    """Counts what one connection received since the last request. `exceeded` is told what was too much, once."""

    clock: Clock
    exceeded: Callable[[str], None]
    received_bytes: int = 0
    received_messages: int = 0
    since: float = 0.0

    def restart(self) -> None:
        """Count from zero, because something was asked for."""
        self.received_bytes = self.received_messages = 0
        self.since = self.clock.elapsed()

    def count(self, size: int, messages: int = 0) -> None:
        """Count what was received; raise TooMuchSent if it is too much."""
        if self.clock.elapsed() - self.since > WINDOW_SECONDS:
            self.restart()
        self.received_bytes += size
        self.received_messages += messages
        if self.received_bytes > MAX_BYTES:
            self.refuse(f"sent more than {MAX_BYTES:,} bytes in one go")
        if self.received_messages > MAX_MESSAGES:
            self.refuse(f"sent more than {MAX_MESSAGES:,} messages in one go")

    def require_message(self, size: int) -> None:
        """Raise TooMuchSent if one message is too long."""
        if size > MAX_MESSAGE_BYTES:
            self.refuse(f"sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")

    def refuse(self, what: str) -> None:
        """Tell what was too much, and raise TooMuchSent."""
        self.exceeded(what)
        raise TooMuchSent(what)


logger = logging.getLogger(__name__)
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")  # as the SDK has it
GRACE_SECONDS, POLL_SECONDS = 2.0, 0.02
CHUNK_BYTES, MAX_LOGGED_CHARACTERS, MAX_LOGGED_LINES = 65_536, 500, 200
MAX_LINE_CHARACTERS, MAX_LAST_CHARACTERS = 4_000, 200


@dataclass(slots=True)
class LocalProcess:
    """A running program, with pipes to its standard input, output and error.

    `keys`: the values of its variables, which are hidden in what it prints on standard error.
    `last_printed`: the last line of that, cut, with blanks in the place of what is invisible.
    """

    name: str
    process: asyncio.subprocess.Process
    clock: Clock
    keys: Secrets = NO_SECRETS
    last_printed: str = ""

    @classmethod
    async def start(cls, name: str, program: LocalProgram, clock: Clock) -> "LocalProcess":
        """Start the program; raise OSError or ValueError if that fails."""
        process = await asyncio.create_subprocess_exec(
            program.command,
            *program.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(program),
            cwd=program.cwd or None,
            limit=MAX_MESSAGE_BYTES,
            start_new_session=True,
        )
        return cls(name, process, clock, Secrets.of(program.env.values()))

    async def stop(self) -> None:
        """Let it end by itself for two seconds, then end its whole group; nothing of the group is left afterwards."""
        pipe = self.process.stdin
        if pipe:
            pipe.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ends(GRACE_SECONDS):
                break
            self._signal(number)
        self._signal(signal.SIGKILL)  # children that outlived it
        await self._ends(GRACE_SECONDS)
        close_pipes(self.process)  # a process that left the group may hold them open

    def kill(self) -> None:
        """End the whole group at once."""
        self._signal(signal.SIGKILL)

    async def log_errors(self) -> None:
        """Write what the program prints on standard error to the log, within limits, and discard the rest."""
        reader, left, begun = self.process.stderr, MAX_LOGGED_LINES, ""
        while reader and (chunk := await reader.read(CHUNK_BYTES)):
            *whole, begun = f"{begun}{chunk.decode(errors='replace')}".split("\n")
            begun = begun[:MAX_LINE_CHARACTERS]
            for line in whole[:left]:
                self._keep(line, is_logged=True)
            self._keep(next(filter(str.strip, reversed(whole[left:])), ""), is_logged=False)
            left = max(0, left - len(whole))
        self._keep(begun, is_logged=left > 0)

    def _keep(self, line: str, *, is_logged: bool) -> None:
        said = self.keys.redact(line[:MAX_LINE_CHARACTERS])[:MAX_LOGGED_CHARACTERS]
        self.last_printed = one_line(said, MAX_LAST_CHARACTERS) or self.last_printed
        if is_logged and said:
            logger.debug("a tool server printed", extra={"server": self.name, "line": said})

    async def _ends(self, seconds: float) -> bool:
        return await _until(lambda: self.process.returncode is not None, self.clock, seconds)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)  # its number is the group's, also after it has ended


def environment(program: LocalProgram) -> dict[str, str]:
    """The variables of the program: six of Signoff's own that name no secrets, and those that its entry names."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **program.env}


async def _until(holds: Callable[[], bool], clock: Clock, seconds: float) -> bool:
    """Whether the condition holds within that many seconds."""
    end = clock.elapsed() + seconds
    while not holds():
        if clock.elapsed() >= end:
            return False
        await clock.sleep(POLL_SECONDS)
    return True


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


LAST_LINE_SECONDS = 0.5  # for what a program that ended has printed on standard error
ENDED = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def stdio_transport(
    name: str, program: LocalProgram, limit: FlowLimit, ended: Callable[[str], None], clock: Clock
) -> AsyncIterator[TransportStreams]:
    """Start the program and connect to its pipes; end it afterwards. `ended` is told why nothing comes any more.

    Raise OSError or ValueError if the program cannot be started.
    """
    local = await LocalProcess.start(name, program, clock)
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        try:
            why = await _read_messages(local, received_in, limit)
            await asyncio.wait((tasks[-1],), timeout=LAST_LINE_SECONDS)
            ended(f"{why}, and printed last: {local.last_printed}" if local.last_printed else why)
        except TooMuchSent:
            local.kill()
        finally:
            received_in.close()

    async def write() -> None:
        with suppress(*ENDED):
            await _write_messages(local, sent_out, limit)
        received_in.close()

    tasks = [asyncio.create_task(each) for each in (read(), write(), local.log_errors())]
    try:
        yield received, sent
    finally:
        for stream in (received, sent):
            stream.close()
        await finish_uncancelled(_end(local, tasks, sent_out))


async def _end(
    local: LocalProcess, tasks: list["asyncio.Task[None]"], sent_out: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    sent_out.close()
    await local.stop()


async def _read_messages(
    local: LocalProcess, received: MemoryObjectSendStream[SessionMessage | Exception], limit: FlowLimit
) -> str:
    """Pass messages on until the program closes its output; return why nothing comes any more."""
    reader = local.process.stdout
    while reader:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            limit.require_message(MAX_MESSAGE_BYTES + 1)
        except (asyncio.IncompleteReadError, OSError):
            break
        else:
            limit.count(len(line), messages=1)
            try:
                await received.send(
                    SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
                )
            except ValueError:
                logger.debug("a tool server sent no message", extra={"server": local.name})
            except ENDED:
                break
    return "ended"


async def _write_messages(
    local: LocalProcess, sent: MemoryObjectReceiveStream[SessionMessage], limit: FlowLimit
) -> None:
    writer = local.process.stdin
    async for each in sent:
        if writer:
            if isinstance(each.message, mcp_types.JSONRPCRequest):
                limit.restart()
            writer.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
