"""Serves MCP clients over streamable HTTP, beside the page: token, limits, and the SDK's handling of a request.

Each request stands for itself: no client has a session, so nothing is kept between two of them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from adapters.http_body import read_body
from adapters.mcp.access import MCP_PATHS, require_access
from adapters.mcp.asgi_bridge import answer
from adapters.mcp.server import MAX_CALLS
from agent_core.ports.clock import Clock

MAX_BODY_BYTES = 2**20
TOO_MANY = "As many calls as possible are being answered. Try again in a few seconds.\n"
RETRY_SECONDS = 5


@dataclass(slots=True, kw_only=True)
class McpEndpoint:
    """Answers the requests to MCP_PATHS while `run` is entered.

    `calls`: those being answered, at most `most_calls` at a time, and cancelled at its end.
    """

    server: Server[Any]
    token: str
    clock: Clock
    most_calls: int = MAX_CALLS
    calls: set[asyncio.Task[Any]] = field(default_factory=set)
    _manager: StreamableHTTPSessionManager | None = None

    @property
    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", path, self.handle) for path in MCP_PATHS]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests inside the `with` block."""
        started, ended = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._manage(started, ended))  # the SDK's task group begins and ends in one task
        await started.wait()
        try:
            yield
        finally:
            self.end_calls()
            ended.set()
            await task

    def end_calls(self) -> None:
        """End all calls that are being answered."""
        for call in self.calls:
            call.cancel()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, if its sender knows the token. The guard of the page has checked its Host."""
        require_access(request, self.token)
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        if len(self.calls) >= self.most_calls or self._manager is None:
            raise web.HTTPServiceUnavailable(text=TOO_MANY, headers={"Retry-After": str(RETRY_SECONDS)})
        call = asyncio.current_task()
        if call is None:
            raise RuntimeError("A handler runs in a task.")
        self.calls.add(call)
        try:
            body = await read_body(request, MAX_BODY_BYTES)
            return await answer(self._manager.handle_request, request, body, self.clock)
        finally:
            self.calls.discard(call)

    async def _manage(self, started: asyncio.Event, ended: asyncio.Event) -> None:
        manager = StreamableHTTPSessionManager(self.server, stateless=True, max_request_body_size=MAX_BODY_BYTES)
        async with manager.run():
            self._manager = manager
            started.set()
            await ended.wait()
            self._manager = None
