"""The endpoints for whoever restarts or routes to a process: /livez of this process, /readyz of what it needs."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from aiohttp import web

from adapters.web.fault_page import RETRY_SECONDS
from agent_core.errors import DatabaseAway
from agent_core.ports.models import NewestCall

Heard: TypeAlias = Mapping[str, Callable[[], datetime | None]]
NOBODY: Heard = MappingProxyType({})
LIVE = "/livez"
PROBE_PATHS = (LIVE, "/readyz", "/healthz")


def probe_routes(
    check_database: Callable[[], Awaitable[object]], newest: NewestCall, heard: Heard = NOBODY
) -> Sequence[web.RouteDef]:
    """The routes of a process that works. `/healthz`, of releases before, is `/readyz`."""

    async def ready(_request: web.Request) -> web.Response:
        """Answer 503 while the database is away. Tell of the model and the platforms, which need no other process."""
        try:
            await check_database()
        except DatabaseAway:
            return database_away()
        times = {name: at.isoformat() if (at := last()) else None for name, last in heard.items()}
        told = {"model": "away" if newest.fault else "ok", **({"heard": times} if times else {})}
        return web.json_response({"status": "ok", **told})

    return [web.get(LIVE, live), *(web.get(path, ready) for path in PROBE_PATHS[1:])]


def waiting_probe_routes() -> Sequence[web.RouteDef]:
    """The routes of a process whose start waits for the database: it lives, and is not ready."""

    async def away(_request: web.Request) -> web.Response:
        return database_away()

    return [web.get(LIVE, live), *(web.get(path, away) for path in PROBE_PATHS[1:])]


def probe_application(routes: Sequence[web.RouteDef]) -> web.Application:
    """What a worker serves, on a port of its own."""
    app = web.Application()
    app.add_routes(routes)
    return app


async def live(_request: web.Request) -> web.Response:
    """Answer as long as this process does, whatever it waits for: nothing is mended by a restart."""
    return web.json_response({"status": "ok"})


def database_away() -> web.Response:
    """The answer while the database is away."""
    retry = {"Retry-After": str(RETRY_SECONDS)}
    return web.json_response({"status": "database away"}, status=503, headers=retry)
