"""An OpenAI-compatible endpoint on 127.0.0.1 that says what a test wrote for it and keeps what it was asked."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Says:
    """A completion. `body` replaces all of it."""

    text: str | None = '{"thoughts": {}, "command": {"name": "do_nothing", "args": {}}}'
    usage: Mapping[str, object] | None = field(default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7})
    finish_reason: str = "stop"
    body: object = None


@dataclass(frozen=True, slots=True)
class Fails:
    """An error as OpenAI words it."""

    status: int
    message: str = "It did not work."
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaysPlain:
    """Text that is no completion, as a page of another server would be."""

    text: str
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class CutsOff:
    """The connection ends in the middle of the answer."""


@dataclass(frozen=True, slots=True)
class Hangs:
    """The answer does not come while anybody waits."""


Answer: TypeAlias = Says | Fails | SaysPlain | CutsOff | Hangs


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class OpenAIStandIn:
    """The endpoint. `refuses` are parameters and response formats it does not take; `key` is the only one it takes."""

    base_url: str = ""
    models: Sequence[str] = ("gpt-test",)
    key: str = ""
    refuses: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    listing: Answer | None = None
    _answers: deque[Answer] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answer) -> None:
        """Give these in order; after them, completions that do nothing."""
        self._answers.extend(answers)

    @property
    def completions(self) -> list[dict[str, Any]]:
        """The bodies of the completions that were asked for."""
        return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        self.requests.append(Request(request.path, request.headers.copy(), {}))
        if fault := self._wrong_key(request):
            return await self._give(fault, request)
        if self.listing:
            return await self._give(self.listing, request)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        body = await request.json()
        self.requests.append(Request(request.path, request.headers.copy(), body))
        fault = self._wrong_key(request) or self._unknown_model(body) or self._refused(body)
        return await self._give(fault or (self._answers.popleft() if self._answers else Says()), request)

    async def close(self) -> None:
        """Let go of everybody who still waits."""
        self._over.set()

    def _wrong_key(self, request: web.Request) -> Fails | None:
        given = request.headers.get("Authorization", "")
        if not self.key or given == f"Bearer {self.key}":
            return None
        return Fails(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.", code="invalid_api_key")

    def _unknown_model(self, body: Mapping[str, Any]) -> Fails | None:
        if body["model"] in self.models:
            return None
        return Fails(404, f"The model `{body['model']}` does not exist.", code="model_not_found")

    def _refused(self, body: Mapping[str, Any]) -> Fails | None:
        used = {*body, str(body.get("response_format", {}).get("type"))}
        for name in sorted(used & self.refuses):
            param = "response_format" if name.startswith("json") else name
            return Fails(400, f"Unsupported: '{name}'.", code="unsupported_parameter", param=param)
        return None

    async def _give(self, answer: Answer, request: web.Request) -> web.StreamResponse:
        match answer:
            case Says():
                return web.json_response(_completion(answer))
            case Fails():
                error = {"message": answer.message, "type": "error", "code": answer.code, "param": answer.param}
                return web.json_response({"error": error}, status=answer.status, headers=answer.headers)
            case SaysPlain():
                return web.Response(text=answer.text, content_type=answer.content_type)
            case CutsOff():
                return await _cut_off(request)
            case Hangs():
                await self._over.wait()
                return web.Response(status=503)


def _completion(answer: Says) -> object:
    if answer.body is not None:
        return answer.body
    message = {"role": "assistant", "content": answer.text}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    completion = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test", "choices": [choice]}
    return completion if answer.usage is None else {**completion, "usage": answer.usage}


async def _cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"id": "c1", "choi')
    if request.transport:
        request.transport.close()
    return response


@asynccontextmanager
async def openai_standin() -> AsyncIterator[OpenAIStandIn]:
    """The endpoint on a free port, for as long as the context lasts."""
    standin = OpenAIStandIn()
    app = web.Application()
    app.router.add_get("/v1/models", standin.list_models)
    app.router.add_post("/v1/chat/completions", standin.complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    standin.base_url = f"http://127.0.0.1:{port}/v1"
    try:
        yield standin
    finally:
        await standin.close()
        await runner.cleanup()
