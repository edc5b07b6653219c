"""The aiohttp application: health, metrics and the routes of the surfaces."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from aiohttp import web

from adapters.web.get_routes import GetRoutes
from adapters.web.guard import Guard
from adapters.web.page_context import WebContext
from adapters.web.post_routes import PostRoutes
from agent_core.service.views import AgentViews
from bot.platforms.chat_platforms import PLATFORMS

OWN_PATHS = ("/healthz", "/metrics")
PLATFORM_PATHS = tuple(f"/{platform.name}/" for platform in PLATFORMS)
# Their requests carry a signature, so any Host is accepted: platforms call the address that they were given.
SIGNED_PATHS = tuple(path for platform in PLATFORMS for path in platform.signed_paths)
MOST_BODY = 2 * 2**20
Heard: TypeAlias = Mapping[str, Callable[[], datetime | None]]
NOBODY: Heard = MappingProxyType({})


def application(workspace: WebContext, routes: Sequence[web.RouteDef] = (), heard: Heard = NOBODY) -> web.Application:
    """Build the application; `routes` are those of surfaces that authenticate requests themselves.

    `heard`: for each chat platform, a function that returns the time of its last event, None before the first.
    """
    app = web.Application(
        client_max_size=MOST_BODY,
        middlewares=[workspace.guard.middleware(_is_page, SIGNED_PATHS.__contains__), workspace.error_pages(_is_page)],
    )
    operations = Operations(workspace.views, workspace.guard, heard)
    app.add_routes([*GetRoutes(workspace).routes(), *PostRoutes(workspace).routes(), *operations.routes(), *routes])

    async def end_streams(_app: web.Application) -> None:
        workspace.hub.close()

    app.on_shutdown.append(end_streams)
    return app


class Operations:
    """The endpoints for monitoring: /healthz and /metrics."""

    def __init__(self, views: AgentViews, guard: Guard, heard: Heard = NOBODY) -> None:
        self.views, self.guard, self.heard = views, guard, heard

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/healthz", self.health), web.get("/metrics", self.metrics)]

    async def health(self, _request: web.Request) -> web.Response:
        """Answer ok if the database answers. Give the time of each platform's last event, to show dead connections."""
        await self.views.census()
        heard = {name: at.isoformat() if (at := last()) else None for name, last in self.heard.items()}
        return web.json_response({"status": "ok", **({"heard": heard} if heard else {})})

    async def metrics(self, request: web.Request) -> web.Response:
        """Agents by status, the time of each platform's last event, and process statistics, as Prometheus text.

        If WEB_TOKEN is set, it is required as `Authorization: Bearer …`.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if self.guard.token and not (scheme.casefold() == "bearer" and self.guard.accepts(token)):
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        from prometheus_client import REGISTRY, CollectorRegistry, Gauge, generate_latest

        own = CollectorRegistry()
        gauge = Gauge("signoff_agents", "Agents by what they are doing.", ["status"], registry=own)
        for count in await self.views.census():
            gauge.labels(status=count.status).inc(count.number)
        if self.heard:
            said = "When a gateway last sent anything, 0 for never."
            times = Gauge("signoff_heard_timestamp_seconds", said, ["surface"], registry=own)
            for name, last in self.heard.items():
                times.labels(surface=name).set(at.timestamp() if (at := last()) else 0)
        text = generate_latest(own) + generate_latest(REGISTRY)
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def _is_page(path: str) -> bool:
    return path not in OWN_PATHS and not path.startswith(PLATFORM_PATHS)
