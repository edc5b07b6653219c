"""Joins the MCP server with a process: standard input and output, HTTP routes, and how it learns of changes.

A client acts as one guest in one channel of the local workspace.
"""

import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from aiohttp import web

from adapters.mcp.waiting import Changes
from adapters.web.identity import WORKSPACE
from adapters.web.render import agent_path
from adapters.web.surface import Hub
from agent_core.assembly import Core
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope
from agent_core.oversight.secrets import Secrets
from agent_core.ports.clock import Clock
from agent_core.providers.system_packages import missing_text
from bot.bootstrap import Signoff
from bot.release import release
from bot.settings import Settings
from bot.startup import is_engine_at_work

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


LOOK_SECONDS = 2.0  # where nothing tells of changes; a page asks as often
STDIN, STDOUT, STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Pipes:
    """The two ends of a connection to the client that started this process."""

    reads: BinaryIO
    writes: BinaryIO


@dataclass(frozen=True, slots=True)
class Told:
    """What a process learns of the agents' work: which of them change, and whether any process advances them."""

    changes: Changes
    has_workers: Callable[[], bool]


def missing_package() -> str:
    """What to do to have the package that speaks MCP, or ""."""
    return missing_text("mcp", "mcp")


def take_pipes() -> Pipes | None:
    """Keep standard input and output for the protocol alone, or return None if they are no pipes or sockets.

    From then on, whatever this process and its children print goes to standard error, and they read nothing.
    """
    modes = (os.fstat(STDIN).st_mode, os.fstat(STDOUT).st_mode)
    if not all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes):
        return None
    pipes = Pipes(os.fdopen(os.dup(STDIN), "rb", 0), os.fdopen(os.dup(STDOUT), "wb", 0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    return pipes


async def serve_client(signoff: Signoff, told: Told, pipes: Pipes) -> None:
    """Serve the client until it closes its end."""
    from adapters.mcp.stdio import serve_pipes

    await serve_pipes(_server(signoff, told), pipes.reads, pipes.writes)


def told_by_engine(core: Core, hub: Hub) -> Told:
    """What a process knows that advances agents, or hears of those that do."""
    return Told(hub.changes, lambda: core.engine.workers > 0)


def told_by_nobody(settings: Settings, clock: Clock) -> Told:
    """What a process finds out that stands beside the engine of a data folder: it looks regularly."""

    async def beats() -> AsyncGenerator[None, None]:
        while True:
            await clock.sleep(LOOK_SECONDS)
            yield None

    return Told(beats, partial(is_engine_at_work, settings))


@asynccontextmanager
async def mcp_routes(signoff: Signoff, hub: Hub) -> AsyncIterator[Sequence[web.RouteDef]]:
    """The routes for MCP clients, served inside the `with` block; none unless MCP_SERVE is on."""
    if not signoff.settings.mcp_serve:
        yield ()
        return
    from adapters.mcp.http import McpEndpoint

    token = signoff.settings.mcp_token.get_secret_value()
    server = _server(signoff, told_by_engine(signoff.core, hub))
    endpoint = McpEndpoint(server=server, token=token, clock=signoff.core.clock)
    async with endpoint.run():
        yield endpoint.routes


def _server(signoff: Signoff, told: Told) -> "Server[Any]":
    from adapters.mcp.agent_tools import AgentTools
    from adapters.mcp.results import ResultTexts
    from adapters.mcp.server import make_server
    from adapters.mcp.waiting import AgentWaits

    settings, core = signoff.settings, signoff.core

    def page_of(agent: Agent) -> str:
        return f"{settings.address}{agent_path(agent)}"

    lifecycle = core.service.lifecycle
    for_guests = replace(lifecycle, limits=replace(lifecycle.limits, guests_may_create=True))
    tools = AgentTools(
        service=replace(core.service, lifecycle=for_guests),
        views=core.views,
        waits=AgentWaits(views=core.views, changes=told.changes),
        texts=ResultTexts(redact=Secrets.of(settings.secrets).redact, page_of=page_of, has_workers=told.has_workers),
        channel=ChannelScope("web", WORKSPACE, settings.mcp_channel),
    )
    return make_server(tools, release())
