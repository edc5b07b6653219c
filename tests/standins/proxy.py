"""A fake HTTP proxy on 127.0.0.1 for http and ws: forwards every host to one local server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class ProxyStandIn:
    """Forwards each connection to `port` of this machine; `asked` records the request lines."""

    port: int
    url: str = ""
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy bytes both ways until one side ends."""
        first = await reader.readline()
        self.asked.append(first.decode())
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.port)
        upstream_writer.write(first)
        try:
            async with asyncio.TaskGroup() as copies:
                copies.create_task(_copy(reader, upstream_writer))
                copies.create_task(_copy(upstream_reader, writer))
        finally:
            writer.close()
            upstream_writer.close()


@asynccontextmanager
async def proxy_standin(port: int) -> AsyncIterator[ProxyStandIn]:
    """Serve on a free port inside a with-block."""
    proxy = ProxyStandIn(port)
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(proxy.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()
