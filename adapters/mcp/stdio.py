"""Serves one MCP client through a pair of pipes, one JSON message a line. Loads the SDK."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

MAX_LINE_BYTES = 4 * 2**20
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that the client sends. They end at its end, and at a line that is too long."""

    reader: asyncio.StreamReader

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self.reader.readline()
            except ValueError:
                logger.warning(
                    "a message of the MCP client is longer than %d bytes: the connection ends", MAX_LINE_BYTES
                )
                return
            if not line:
                return
            yield line.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Answers:
    """Where the answers go. A client that does not read them holds up nothing but its own calls."""

    writer: asyncio.StreamWriter

    async def write(self, text: str) -> None:
        self.writer.write(text.encode())

    async def flush(self) -> None:
        with suppress(ConnectionError):  # it has left, and its end of the other pipe follows
            await self.writer.drain()


async def serve_pipes(server: Server[Any], reads: IO[bytes], writes: IO[bytes]) -> None:
    """Serve the client until it closes its end; its calls that are not answered by then are cancelled.

    Raise ValueError if these are no pipes, sockets or terminals. Both are closed at the end.
    """
    async with pipe_ends(reads, writes) as (lines, answers):
        streams = (cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers))
        async with stdio_server(*streams) as (received, sent):
            await server.run(received, sent, server.create_initialization_options())


@asynccontextmanager
async def pipe_ends(reads: IO[bytes], writes: IO[bytes]) -> AsyncIterator[tuple[Lines, Answers]]:
    """Both directions of a connection, closed at the end."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=MAX_LINE_BYTES)
    received, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reads)
    unread = asyncio.StreamReaderProtocol(
        asyncio.StreamReader()
    )  # it slows the writer down where the client does not read
    sent, protocol = await loop.connect_write_pipe(lambda: unread, writes)
    writer = asyncio.StreamWriter(sent, protocol, None, loop)
    try:
        yield Lines(reader), Answers(writer)
    finally:
        writer.close()
        received.close()
