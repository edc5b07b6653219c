"""A fake Google Custom Search on 127.0.0.1."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.standins.serving import serving


@dataclass(slots=True)
class GoogleStandIn:
    """Gives the answers that a test defined, else default ones."""

    url: str = ""
    status: int = 200
    body: object = None
    asked: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """GET a search."""
        self.asked.append(dict(request.query))
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status)
        found = [{"title": f"Hit {n}", "link": f"https://{n}.example", "snippet": "words  of\nit"} for n in (1, 2)]
        return web.json_response(self.body or {"items": found}, status=self.status)


@asynccontextmanager
async def google_standin() -> AsyncIterator[GoogleStandIn]:
    """Serve on a free port inside a with-block."""
    standin, app = GoogleStandIn(), web.Application()
    app.router.add_get("/customsearch/v1", standin.answer)
    async with serving(app) as address:
        standin.url = f"{address}/customsearch/v1"
        yield standin
