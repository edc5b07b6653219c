"""The Slack of the clicks bench: it answers at once and notes when a card was edited."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from aiohttp import web

MEMBERS = [{"id": f"U{number}", "name": f"person-{number}", "team_id": "T1"} for number in range(20)]
OWN = {"team_id": "T1", "team": "Bench", "user_id": "UBOT", "bot_id": "BBOT", "user": "signoff"}


@dataclass(slots=True)
class LeanSlack:
    """Keeps when each card was first edited, and when anything was last asked."""

    edited: dict[str, float] = field(default_factory=dict)
    edits: int = 0
    asked_at: float = field(default_factory=time.perf_counter)
    ticks: "count[int]" = field(default_factory=lambda: count(1))

    async def api(self, request: web.Request) -> web.Response:
        """One call of the Web API."""
        method, now = request.match_info["method"], time.perf_counter()
        self.asked_at = now
        given = await request.json() if request.content_type == "application/json" else await request.post()
        answer: dict[str, object] = {"ok": True}
        match method:
            case "auth.test":
                answer |= OWN
            case "users.list":
                answer |= {"members": MEMBERS}
            case "chat.update":
                self.edits += 1
                self.edited.setdefault(str(given["ts"]), now)
                answer |= {"ts": given["ts"]}
            case "chat.postMessage":
                answer |= {"ts": f"{next(self.ticks)}.000001"}
            case _:
                answer |= {"messages": []}
        return web.json_response(answer)


@asynccontextmanager
async def serve(slack: LeanSlack) -> AsyncIterator[str]:
    """Its address; everything ends with the block."""
    app = web.Application(client_max_size=2**22)
    app.add_routes(
        [
            web.post("/api/{method}", slack.api),
            web.get("/api/{method}", slack.api),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
