"""An endpoint on this machine that plays a script and logs what it was asked: completions, embeddings, searches."""

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

from benchmarks.tokens_figures import ENCODING, Call
from benchmarks.tokens_script import ReplayScript

DIMENSION = 1536
MODELS = ("gpt-4", "text-embedding-3-small")


@dataclass(slots=True)
class Stub:
    """The n-th turn gets the n-th reply, prose gets a summary."""

    script: ReplayScript
    replies: list[str]
    calls: list[Call] = field(default_factory=list)
    url: str = ""

    async def models(self, _request: web.Request) -> web.Response:
        """GET /v1/models."""
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

    async def complete(self, request: web.Request) -> web.Response:
        """POST /v1/chat/completions."""
        body = await request.json()
        kind = "chat" if "command" in str(body.get("response_format")) else "summary"
        text = self._next(kind)
        call = Call.of(kind, body["messages"], text)
        self.calls.append(call)
        usage = {"prompt_tokens": call.size, "completion_tokens": call.completion, "total_tokens": call.size}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        return web.json_response({**answer, "usage": usage})

    async def embed(self, request: web.Request) -> web.Response:
        """POST /v1/embeddings: texts that share words are near."""
        body: dict[str, Any] = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        tokens = sum(len(ENCODING.encode_ordinary(text)) for text in texts)
        self.calls.append(Call("embedding", (), tokens, 0, 0))
        data = [
            {"object": "embedding", "index": at, "embedding": _shaped(_vector(text), body.get("encoding_format"))}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": usage})

    async def search(self, request: web.Request) -> web.Response:
        """GET /customsearch/v1."""
        hits = self.script.search(request.query.get("q", ""))
        items = [{"title": hit["title"], "link": hit["href"], "snippet": hit["body"]} for hit in hits]
        return web.json_response({"items": items})

    def _next(self, kind: str) -> str:
        made = sum(call.kind == kind for call in self.calls)
        return self.script.summary(made) if kind == "summary" else self.replies[min(made, len(self.replies) - 1)]


@asynccontextmanager
async def stub(script: ReplayScript, turns: int) -> AsyncIterator[Stub]:
    """The endpoint on a free port, while the block lasts."""
    stub, app = Stub(script, list(script.replies(turns))), web.Application(client_max_size=64 * 2**20)
    app.router.add_get("/v1/models", stub.models)
    app.router.add_post("/v1/chat/completions", stub.complete)
    app.router.add_post("/v1/embeddings", stub.embed)
    app.router.add_get("/customsearch/v1", stub.search)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield stub
    finally:
        await runner.cleanup()


def _vector(text: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """A bag of hashed words with a little noise, dense as a real one."""
    vector = np.zeros(DIMENSION, np.float32)
    for word in text.casefold().split():
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4], "big") % DIMENSION] += 1.0 if digest[4] & 1 else -1.0
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    noise = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    vector = vector / max(float(np.linalg.norm(vector)), 1e-9) + 0.2 * noise / float(np.linalg.norm(noise))
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def _shaped(vector: "np.ndarray[Any, np.dtype[np.float32]]", form: str | None) -> object:
    return base64.b64encode(vector.tobytes()).decode() if form == "base64" else vector.tolist()
