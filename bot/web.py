"""The aiohttp application: health and metrics; mounts the routes that the surfaces own."""

from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from adapters.web.app import Workspace
from adapters.web.guard import Guard
from adapters.web.listeners import Listeners
from adapters.web.pages import Pages
from agent_core.service.views import AgentViews

OWN_PATHS = ("/healthz", "/metrics")
SLACK_PATHS = "/slack/"
MOST_BODY = 2 * 2**20


def application(workspace: Workspace, routes: Sequence[web.RouteDef] = ()) -> web.Application:
    """All routes of one process; `routes` are those of surfaces that check who comes by themselves."""
    app = web.Application(
        client_max_size=MOST_BODY,
        middlewares=[workspace.guard.middleware(_is_page), workspace.telling(_is_page)],
    )
    views = workspace.intents.views
    app.add_routes(
        [
            *Pages(workspace).routes(),
            *Listeners(workspace).routes(),
            *Operations(views, workspace.guard).routes(),
            *routes,
        ]
    )
    app.on_shutdown.append(_end_streams(workspace))
    return app


class Operations:
    """What operators' tools ask."""

    def __init__(self, views: AgentViews, guard: Guard) -> None:
        self.views, self.guard = views, guard

    def routes(self) -> list[web.RouteDef]:
        """Health and metrics."""
        return [web.get("/healthz", self.health), web.get("/metrics", self.metrics)]

    async def health(self, _request: web.Request) -> web.Response:
        """Say ok when the database answers."""
        await self.views.census()
        return web.json_response({"status": "ok"})

    async def metrics(self, request: web.Request) -> web.Response:
        """Agents by what they are doing, and the process itself, in Prometheus' text format.

        Where WEB_TOKEN is set, it is asked for as `Authorization: Bearer …`.
        """
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if self.guard.token and not (scheme.casefold() == "bearer" and self.guard.accepts(token)):
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        from prometheus_client import REGISTRY, CollectorRegistry, Gauge, generate_latest

        own = CollectorRegistry()
        gauge = Gauge("signoff_agents", "Agents by what they are doing.", ["status"], registry=own)
        for count in await self.views.census():
            gauge.labels(status=count.status).inc(count.number)
        text = generate_latest(own) + generate_latest(REGISTRY)
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def _is_page(path: str) -> bool:
    return path not in OWN_PATHS and not path.startswith(SLACK_PATHS)


def _end_streams(workspace: Workspace) -> Callable[[web.Application], Awaitable[None]]:
    async def end(_app: web.Application) -> None:
        workspace.hub.close()

    return end
