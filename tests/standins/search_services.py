"""A fake Brave, Tavily and SearXNG on 127.0.0.1, each with its own checks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.standins.serving import serving

KEY = "k-secret"


@dataclass(slots=True)
class SearchStandIn:
    """Answers with two results, or with `status`. Notes what it was asked. SearXNG may have no JSON."""

    url: str = ""
    status: int = 200
    has_json: bool = True
    asked: list[dict[str, object]] = field(default_factory=list)

    async def brave(self, request: web.Request) -> web.StreamResponse:
        """GET a search."""
        self.asked.append(dict(request.query))
        return self._answer(request.headers.get("X-Subscription-Token"), {"web": {"results": _found("description")}})

    async def tavily(self, request: web.Request) -> web.StreamResponse:
        """POST a search."""
        self.asked.append(await request.json())
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return self._answer(key, {"results": _found("content")})

    async def searxng(self, request: web.Request) -> web.StreamResponse:
        """GET a search."""
        self.asked.append(dict(request.query))
        if request.query.get("format") != "json" or not self.has_json:
            return web.Response(status=403)
        return self._answer(KEY, {"results": _found("content") * 10})

    def _answer(self, key: str | None, found: object) -> web.StreamResponse:
        if key != KEY:
            return web.Response(status=401, text=f"The key {key} is unknown.")
        return web.json_response(found, status=self.status)


def _found(text: str) -> list[dict[str, str]]:
    return [{"title": f"Hit {n}", "url": f"https://{n}.example", text: "words  of\nit"} for n in (1, 2)]


@asynccontextmanager
async def search_standin() -> AsyncIterator[SearchStandIn]:
    """Serve on a free port inside a with-block."""
    standin, app = SearchStandIn(), web.Application()
    app.router.add_get("/res/v1/web/search", standin.brave)
    app.router.add_post("/search", standin.tavily)
    app.router.add_get("/search", standin.searxng)
    async with serving(app) as standin.url:
        yield standin
