"""The aiohttp application with probes, metrics and the routes of the surfaces, and its server."""

import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.mcp.access import MCP_PATHS
from adapters.web.get_routes import GetRoutes
from adapters.web.guard import Guard, answer_outage
from adapters.web.page_context import STATIC, WebContext
from adapters.web.post_routes import PostRoutes
from agent_core.errors import DatabaseAway, SettingsError
from bot.platforms.chat_platforms import PLATFORMS
from bot.wiring.metrics import METRICS, Metrics
from bot.wiring.probes import NOBODY, PROBE_PATHS, Heard, database_away, probe_routes, waiting_probe_routes

GRACE_SECONDS = 2.0
KEEPALIVE_SECONDS = 75.0  # longer than proxies keep a connection, so that the proxy closes it
LINGER_SECONDS = 5.0  # for the rest of a body that nobody reads


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether the error is not that of a malformed request, which was answered with 400."""
    return not record.exc_info or not isinstance(record.exc_info[1], HttpProcessingError | web.RequestPayloadError)


logging.getLogger("aiohttp.server").addFilter(_is_ours)


@asynccontextmanager
async def serve_app(
    app: web.Application, host: str, port: int, *, keepalive_seconds: float = KEEPALIVE_SECONDS
) -> AsyncIterator[web.AppRunner]:
    """Serve the application inside the `with` block; raise SettingsError if the port is in use."""
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=GRACE_SECONDS,
        keepalive_timeout=keepalive_seconds,
        lingering_time=LINGER_SECONDS,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as fault:
            said = f"{host}:{port} cannot be listened on ({os.strerror(fault.errno or 0)})."
            raise SettingsError("PORT", said, "8701") from fault
        yield runner
    finally:
        await runner.cleanup()


OWN_PATHS = (*PROBE_PATHS, METRICS, *MCP_PATHS)
PLATFORM_PATHS = tuple(f"/{platform.name}/" for platform in PLATFORMS)
# Asked by any Host: platforms sign their requests, probes tell nothing, and /metrics has a token. A kubelet asks for an
# address, and a scraper beside a container for a service's name.
ANY_HOST_PATHS = (*PROBE_PATHS, METRICS, *(path for platform in PLATFORMS for path in platform.signed_paths))
MOST_BODY = 2 * 2**20


def application(
    workspace: WebContext,
    routes: Sequence[web.RouteDef] = (),
    heard: Heard = NOBODY,
    metrics: Metrics | None = None,
) -> web.Application:
    """Build the application; `routes` are those of surfaces that authenticate requests themselves.

    `metrics`: what Prometheus is told; None tells what the database does, to whoever may open the page.
    `heard`: for each chat platform, a function that returns the time of its last event, None before the first.
    """
    app = web.Application(
        client_max_size=MOST_BODY,
        middlewares=[workspace.error_pages(_is_page)],
    )
    workspace.guard.watch(app, _is_page, ANY_HOST_PATHS.__contains__)
    operations = (
        *probe_routes(workspace.views.check_database, workspace.model_label.newest, heard),
        web.get(METRICS, (metrics or Metrics(guard=workspace.guard, page=workspace, heard=heard)).answer),
    )
    app.add_routes([*GetRoutes(workspace).routes(), *PostRoutes(workspace).routes(), *operations, *routes])

    async def end_streams(_app: web.Application) -> None:
        workspace.hub.close()

    app.on_shutdown.append(end_streams)
    return app


def waiting_application(guard: Guard) -> web.Application:
    """Answers 503 to everything, at a start that waits for the database; pages give back what was written."""
    app = web.Application(client_max_size=MOST_BODY)
    guard.watch(app, _is_page, ANY_HOST_PATHS.__contains__)

    async def answer(request: web.Request) -> web.StreamResponse:
        if not _is_page(request.path):
            return database_away()
        return await answer_outage(request, DatabaseAway())

    app.add_routes(waiting_probe_routes())
    app.router.add_static("/static", STATIC)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


def _is_page(path: str) -> bool:
    return path not in OWN_PATHS and not path.startswith(PLATFORM_PATHS)
