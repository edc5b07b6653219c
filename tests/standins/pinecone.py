"""A fake Pinecone on 127.0.0.1: a real vector server behind a control plane with the API of 2026-07.

The server is `needledb`, which stores vectors and checks keys and dimensions but has an older control plane. The proxy
before it adds failures, records requests and delays indexes.
"""

import asyncio
import atexit
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any, TypeAlias

from aiohttp import ClientSession, web

from tests.patience import PATIENCE_SECONDS
from tests.standins.serving import serving

KEY = "pcsk_test_3f9a0c"
MAX_REQUEST_BYTES, MAX_VECTORS = 2_000_000, 1000
NAMES = count(1)


@dataclass(frozen=True, slots=True)
class Fails:
    """An error in Pinecone's format. Retry-After 0 keeps the SDK from waiting in a test."""

    status: int
    message: str = "It did not work."
    headers: Mapping[str, str] = field(default_factory=lambda: {"Retry-After": "0"})


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer until the test ends."""


@dataclass(frozen=True, slots=True)
class SaysPlain:
    """A text that is not an answer of Pinecone."""

    text: str = "<h1>It works!</h1>"


Answer: TypeAlias = Fails | Hangs | SaysPlain


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    size: int
    body: dict[str, Any]


@dataclass(slots=True)
class PineconeStandIn:
    """The service. It accepts only the API key KEY; a new index is ready after it was described `pauses` times."""

    behind: str
    session: ClientSession
    url: str = ""
    pauses: int = 0
    state: str = "Initializing"
    requests: list[Request] = field(default_factory=list)
    _answers: deque[Answer] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    def host(self, index: str) -> str:
        return f"{self.url}/indexes/{index}"

    def asked(self, end: str) -> list[dict[str, Any]]:
        return [request.body for request in self.requests if request.path.endswith(end)]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = await request.json() if raw else {}
        self.requests.append(Request(request.method, request.path, len(raw), body))
        if self._answers:
            return await self._give(self._answers.popleft())
        if fault := _beyond_limits(request.path, len(raw), body):
            return _error(400, fault)
        if request.method == "POST" and request.path == "/indexes":
            return await self._create(request, body)
        return await self._pass_on(request, request.path, body)

    async def _create(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        vectors = body["schema"]["fields"]["_values"]
        asked = {"name": body["name"], "dimension": vectors["dimension"], "metric": vectors["metric"]}
        return await self._pass_on(request, "/indexes", asked)

    async def _pass_on(self, request: web.Request, path: str, body: dict[str, Any]) -> web.StreamResponse:
        key = {"Api-Key": request.headers.get("Api-Key", "")}
        data = io.BytesIO(json.dumps(body).encode()) if body else None
        url = self.behind + path
        send = self.session.request(request.method, url, params=request.query, data=data, headers=key)
        async with send as answer:
            content = await answer.json()
            if answer.status < 300 and "index_type" in content:
                content = self._described(content)
            return web.json_response(content, status=answer.status)

    def _described(self, index: dict[str, Any]) -> dict[str, Any]:
        is_ready, self.pauses = self.pauses == 0, max(self.pauses - 1, 0)
        vectors = {"type": "dense_vector", "dimension": index["dimension"], "metric": index["metric"]}
        return {
            "name": index["name"],
            "host": self.host(index["name"]),
            "schema": {"fields": {"_values": vectors}},
            "deployment": {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1", "environment": "test"},
            "status": {"ready": is_ready, "state": "Ready" if is_ready else self.state},
            "deletion_protection": "disabled",
            "read_capacity": {"mode": "OnDemand", "status": {"state": "Ready"}},
            "tags": {},
        }

    async def _give(self, answer: Answer) -> web.StreamResponse:
        match answer:
            case Fails():
                return _error(answer.status, answer.message, answer.headers)
            case SaysPlain():
                return web.Response(text=answer.text, content_type="text/html")
            case Hangs():
                await self._over.wait()
                return _error(503, "Too late.")

    async def close(self) -> None:
        """Release requests that still wait."""
        self._over.set()


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(
        {"error": {"code": "X", "message": message}, "status": status}, status=status, headers=headers
    )


def _beyond_limits(path: str, size: int, body: dict[str, Any]) -> str:
    """Limits of Pinecone that needledb does not enforce."""
    names = [body.get("namespace", ""), *(vector["id"] for vector in body.get("vectors", ()))]
    if not all(name.isascii() and len(name) <= 512 for name in names):
        return "names are ASCII and no longer than 512"
    if path.endswith("/vectors/upsert") and (size > MAX_REQUEST_BYTES or len(body["vectors"]) > MAX_VECTORS):
        return "an upsert takes no more than 2 MB and 1,000 vectors"
    if any(not any(vector["values"]) for vector in body.get("vectors", ())):
        return "dense vectors must contain at least one non-zero value"
    return "too many ids" if len(body.get("ids", ())) > 1000 else ""


@cache
def backend() -> str:
    """The address of a vector server that is started once and ends with the tests."""
    folder = tempfile.mkdtemp(prefix="signoff-needledb-")
    command = [sys.executable, "-m", "needledb", "serve", "--data", folder, "--port", "0", "--api-key", KEY]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    atexit.register(_end, server, folder)
    told = []
    for line in server.stderr or ():
        told.append(line)
        if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise RuntimeError(f"needledb did not start: {''.join(told)}")


def _end(server: subprocess.Popen[str], folder: str) -> None:
    server.terminate()
    server.communicate(timeout=PATIENCE_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def pinecone_standin() -> AsyncIterator[PineconeStandIn]:
    """Serve on a free port inside a with-block."""
    address = await asyncio.to_thread(backend)
    async with ClientSession() as session:
        standin = PineconeStandIn(address, session)
        app = web.Application(client_max_size=50_000_000)
        app.router.add_route("*", "/{path:.*}", standin.handle)
        async with serving(app) as standin.url:
            try:
                yield standin
            finally:
                await standin.close()


def new_name() -> str:
    """A new index name."""
    return f"memories-{next(NAMES)}"
