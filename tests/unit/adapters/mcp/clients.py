"""Clients of the official SDK, over real pipes and sockets, of a server on a stage whose engine runs."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import anyio
import httpx2
from aiohttp import web
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, TextContent

from adapters.mcp.agent_tools import AgentTools
from adapters.mcp.http import McpEndpoint
from adapters.mcp.results import ResultTexts
from adapters.mcp.server import make_server
from adapters.mcp.stdio import pipe_ends, serve_pipes
from adapters.mcp.waiting import AgentWaits
from adapters.web.surface import WebSurface
from agent_core.model.agent import Agent
from agent_core.model.decision import Decision
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.oversight.secrets import Secrets
from agent_core.providers.clock import SystemClock
from agent_core.service.creating.creation import CreationLimits
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from bot.web import serve_app
from tests.patience import PATIENCE_SECONDS
from tests.wiring import with_limits

TOKEN, SECRET = "t" * 32, "sk-operators-own-key"
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
HERE, ELSEWHERE = ChannelScope("web", "local", "general"), ChannelScope("web", "local", "other")
PERSON = Actor(id="ana", display="Ana", workspace="local")
Era = Literal["auto", "legacy"]


@dataclass(slots=True, kw_only=True)
class Served:
    """A server, and what stands behind it."""

    stage: Stage
    surface: WebSurface
    endpoint: McpEndpoint
    url: str = ""

    def origin(self, channel: ChannelScope = HERE) -> Origin:
        return Origin(by=PERSON, channel=channel)

    async def agent(self, name: str) -> Agent:
        found = await self.stage.views.find_by_name(HERE, name)
        assert found
        return found

    async def decide(self, name: str, decision: Decision) -> None:
        """Decide the agent's open proposal, as a person on the page does."""
        agent = await self.until(name, lambda agent: agent.needs_people)
        turn = await self.stage.turn(agent)
        await self.stage.service.decisions.decide(turn.id, decision, self.origin(), shown=turn.control_hash)

    async def until(self, name: str, holds: Callable[[Agent], bool]) -> Agent:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(agent := await self.agent(name)):
                await asyncio.to_thread(os.sched_yield)
        return agent


def over_http(served: Served, era: Era) -> AbstractAsyncContextManager[Client]:
    return http_client(served.url, era)


@asynccontextmanager
async def http_client(url: str, era: Era, token: str = TOKEN) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


@asynccontextmanager
async def over_pipes(served: Served, era: Era) -> AsyncIterator[Client]:
    (to_server, from_client), (to_client, from_server) = os.pipe(), os.pipe()
    reads, writes = os.fdopen(to_server, "rb", 0), os.fdopen(from_server, "wb", 0)
    serving = asyncio.create_task(serve_pipes(served.endpoint.server, reads, writes))
    try:
        async with Client(_ends(to_client, from_client), mode=era) as client:
            yield client
    finally:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await serving


@asynccontextmanager
async def _ends(reads: int, writes: int) -> AsyncIterator[Any]:
    """The client's ends: the SDK's transport of lines is the same on both sides."""
    async with (
        pipe_ends(os.fdopen(reads, "rb", 0), os.fdopen(writes, "wb", 0)) as (lines, answers),
        AsyncExitStack() as stack,
    ):
        pair = (cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers))
        streams = await stack.enter_async_context(stdio_server(*pair))
        stack.callback(answers.writer.close)  # before the SDK's transport ends: it waits for the server's end
        yield streams


@asynccontextmanager
async def serving(model: ScriptedModel | None = None) -> AsyncIterator[Served]:
    """A server over HTTP on a free port, whose agents are worked for."""
    surface = WebSurface()
    stage = Stage(model=model or ScriptedModel(), surface=surface, clock=SystemClock())
    endpoint = endpoint_of(stage, surface)
    served = Served(stage=stage, surface=surface, endpoint=endpoint)
    app = web.Application()
    app.add_routes(endpoint.routes)
    app.on_shutdown.append(partial(_close, surface))
    async with endpoint.run(), stage.run(), serve_app(app, "127.0.0.1", 0) as runner:
        served.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
        yield served


def endpoint_of(stage: Stage, surface: WebSurface) -> McpEndpoint:
    """The endpoint for agents of the channel HERE."""
    limits = CreationLimits(guests_may_create=True, agents_per_person=50)
    tools = AgentTools(
        service=with_limits(stage, limits),
        views=stage.views,
        waits=AgentWaits(views=stage.views, changes=surface.hub.changes),
        texts=ResultTexts(
            redact=Secrets.of([SECRET]).redact,
            page_of=lambda agent: f"http://signoff.test/{agent.id}",
            has_workers=lambda: True,
        ),
        channel=HERE,
    )
    return McpEndpoint(server=make_server(tools, "1.0"), token=TOKEN, clock=SystemClock())


@asynccontextmanager
async def mcp_beside_the_page(stage: Stage, surface: WebSurface) -> AsyncIterator[Sequence[web.RouteDef]]:
    """The routes of the endpoint, for `served`."""
    endpoint = endpoint_of(stage, surface)
    async with endpoint.run():
        yield endpoint.routes


async def _close(surface: WebSurface, _app: web.Application) -> None:
    surface.hub.close()


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool answers; fail if it refuses."""
    found = await client.call_tool(tool, dict(arguments))
    assert not found.is_error, said(found)
    return cast("dict[str, Any]", found.structured_content)


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """Why a tool refuses."""
    found = await client.call_tool(tool, dict(arguments))
    assert found.is_error
    return said(found)


def said(found: CallToolResult) -> str:
    return "".join(part.text for part in found.content if isinstance(part, TextContent))
