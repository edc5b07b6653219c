"""A fake OpenAI-compatible endpoint on 127.0.0.1 that gives scripted answers and records requests."""

import asyncio
import base64
import hashlib
import json
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from aiohttp import web

from tests.standins.serving import serving


@dataclass(frozen=True, slots=True)
class Says:
    """A completion. `body` replaces all of it. `tools` are names and arguments of tool calls.

    `reasoning` stands in `reasoning_field`. A streamed one comes in pieces of `piece` characters and ends early after
    `breaks_after` of them.
    """

    text: str | None = '{"thoughts": {}, "command": {"name": "do_nothing", "args": {}}}'
    usage: Mapping[str, object] | None = field(default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7})
    finish_reason: str = "stop"
    body: object = None
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    tools: Sequence[tuple[str, str]] = ()
    piece: int = 16
    breaks_after: int | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """An error in OpenAI's format."""

    status: int
    message: str = "It did not work."
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaysPlain:
    """A text that is not a completion, such as a page of another server."""

    text: str
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class Sends:
    """A body in parts, with status 200. If it `hangs`, the last part is sent again until the client goes."""

    parts: Iterable[bytes]
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class CutsOff:
    """The connection breaks in the middle of the answer."""


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer until the test ends; a streamed one begins with `text` and then stalls."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Embeds:
    """An answer with embeddings. `body` replaces all of it; without `usage` the words of the texts are counted."""

    body: object = None
    usage: Mapping[str, object] | None = field(default_factory=dict)


LOOK_SECONDS = 0.05  # aiohttp does not tell a handler that its client is gone


@dataclass(frozen=True, slots=True)
class Manners:
    """How a service differs from OpenAI: each function is given what OpenAI would send, and returns what it sends.

    `refuses` is given a request, and returns status and body of its refusal, or None. `comment` is sent as a comment
    between the events of a stream. `always_counts`: usage comes in streams without being asked for.
    """

    completion: Callable[[dict[str, Any]], object] = lambda completion: completion
    chunk: Callable[[dict[str, Any]], object] = lambda chunk: chunk
    refuses: Callable[[Mapping[str, Any]], tuple[int, object] | None] = lambda _body: None
    comment: str = ""
    always_counts: bool = False


Answer: TypeAlias = Embeds | Says | Fails | SaysPlain | Sends | CutsOff | Hangs


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class OpenAIStandIn:
    """The endpoint. It rejects the parameters and formats in `refuses`, and every API key but `key`.

    It answers by a tool call where one is required, unless `obeys` is False. It streams where it is asked to, unless
    `streams` is False; `lost_a_stream` is set when the client closes one early. `facts` stand beside a model's name in
    the list of models. A text gets its vector in `vectors`, else one made of its letters; vectors are not normalised
    and come in reverse order. `only_floats` ignores the requested encoding.
    """

    base_url: str = ""
    models: Sequence[str] = ("gpt-test",)
    facts: dict[str, dict[str, object]] = field(default_factory=dict)
    vectors: dict[str, Sequence[float]] = field(default_factory=dict)
    only_floats: bool = False
    streams: bool = True
    obeys: bool = True
    manners: Manners = Manners()
    lost_a_stream: asyncio.Event = field(default_factory=asyncio.Event)
    was_listed: asyncio.Event = field(default_factory=asyncio.Event)
    key: str = ""
    refuses: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    listing: Answer | None = None
    _answers: deque[Answer] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    @property
    def completions(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests if request.path.endswith("/chat/completions")]

    @property
    def embeddings(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests if request.path.endswith("/embeddings")]

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        self.was_listed.set()
        self.requests.append(Request(request.path, request.headers.copy(), {}))
        if fault := self._wrong_key(request):
            return await self._give(fault, request)
        if self.listing:
            return await self._give(self.listing, request)
        listed = [{"id": name, "object": "model", **self.facts.get(name, {})} for name in self.models]
        return web.json_response({"object": "list", "data": listed})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        body = await request.json()
        self.requests.append(Request(request.path, request.headers.copy(), body))
        if refusal := self.manners.refuses(body):
            return web.json_response(refusal[1], status=refusal[0])
        fault = self._wrong_key(request) or self._unknown_model(body) or self._refused(body)
        answer = fault or (self._answers.popleft() if self._answers else Says())
        if isinstance(answer, Sends):
            return await send_parts(answer, request, self._over)
        if isinstance(answer, Says) and self.obeys and body.get("tool_choice") == "required" and not answer.tools:
            answer = replace(answer, text=None, tools=((body["tools"][0]["function"]["name"], answer.text or ""),))
        return await self._give(answer, request)

    async def embed(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/embeddings."""
        body = await request.json()
        self.requests.append(Request(request.path, request.headers.copy(), body))
        fault = self._wrong_key(request) or self._unknown_model(body) or self._refused(body) or _too_much(body)
        answer = fault or (self._answers.popleft() if self._answers else Embeds())
        if isinstance(answer, Embeds):
            return web.json_response(self._embedded(answer, body))
        return await self._give(answer, request)

    async def close(self) -> None:
        """Release requests that still wait."""
        self._over.set()

    def _embedded(self, answer: Embeds, body: Mapping[str, Any]) -> object:
        if answer.body is not None:
            return answer.body
        is_packed = body.get("encoding_format") == "base64" and not self.only_floats
        vectors = [self.vectors.get(text) or letters(text) for text in body["input"]]
        listed = [
            {"object": "embedding", "index": index, "embedding": to_base64(vector) if is_packed else list(vector)}
            for index, vector in enumerate(vectors)
        ]
        words = sum(len(text.split()) for text in body["input"])
        usage = None if answer.usage is None else {"prompt_tokens": words, "total_tokens": words, **answer.usage}
        return {"object": "list", "model": body["model"], "data": listed[::-1], "usage": usage}

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
        used = {*body, str(body.get("response_format", {}).get("type")), str(body.get("encoding_format"))}
        for name in sorted(used & self.refuses):
            param = "response_format" if name.startswith("json") else name
            param = "encoding_format" if name == "base64" else param
            return Fails(400, f"Unsupported: '{name}'.", code="unsupported_parameter", param=param)
        return None

    async def _give(self, answer: Answer, request: web.Request) -> web.StreamResponse:
        match answer:
            case Embeds() | Sends():  # sent by `complete`
                return web.Response(status=500)
            case Says(body=None) if self._is_streamed(request):
                return await self._stream(answer, request)
            case Says():
                completion = _completion(answer)
                return web.json_response(self.manners.completion(completion) if answer.body is None else completion)
            case Fails():
                error = {"message": answer.message, "type": "error", "code": answer.code, "param": answer.param}
                return web.json_response({"error": error}, status=answer.status, headers=answer.headers)
            case SaysPlain():
                return web.Response(text=answer.text, content_type=answer.content_type)
            case CutsOff():
                return await cut_off(request)
            case Hangs():
                return await self._hang(answer, request)

    async def _hang(self, answer: Hangs, request: web.Request) -> web.StreamResponse:
        if answer.text:
            return await self._stream(Says(answer.text), request, stalls=True)
        await self._over.wait()
        return web.Response(status=503)

    def _is_streamed(self, request: web.Request) -> bool:
        return self.streams and bool(self.requests[-1].body.get("stream")) and request.path.endswith("completions")

    async def _wait_while_heard(self, request: web.Request) -> None:
        """Wait until the test ends; raise ConnectionError when the client goes."""
        while not self._over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), LOOK_SECONDS)
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError

    async def _stream(self, answer: Says, request: web.Request, *, stalls: bool = False) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with_usage = self.manners.always_counts or bool(self.requests[-1].body.get("stream_options"))
        try:
            for sent, chunk in enumerate(_chunks(answer, with_usage=with_usage)):
                if stalls and "finish_reason" in chunk:
                    await self._wait_while_heard(request)
                if sent == answer.breaks_after:
                    if request.transport:
                        request.transport.close()
                    return response
                if self.manners.comment:
                    await response.write(f": {self.manners.comment}\n\n".encode())
                sent_chunk = chunk if chunk == "[DONE]" else json.dumps(self.manners.chunk(json.loads(chunk)))
                await response.write(f"data: {sent_chunk}\n\n".encode())
        except ConnectionError:
            self.lost_a_stream.set()
        return response


def letters(text: str) -> tuple[float, ...]:
    """Eight numbers from -1 to 1, the same ones for the same text."""
    return tuple((byte - 127.5) / 127.5 for byte in hashlib.sha256(text.encode()).digest()[:8])


def to_base64(vector: Sequence[float]) -> str:
    """The vector as base64 of 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _too_much(body: Mapping[str, Any]) -> Fails | None:
    """OpenAI's input limits: 1 to 2,048 texts, none empty, at most about 8,192 tokens each."""
    texts = body["input"]
    if not 0 < len(texts) <= 2048 or any(not text or len(text) > 8192 * 8 for text in texts):
        return Fails(400, "Invalid 'input'.", param="input")
    return None


def _chunks(answer: Says, *, with_usage: bool) -> Iterator[str]:
    """The data of each event: reasoning, text and tool calls in pieces, then the end, usage, and `[DONE]`."""

    def chunk(delta: Mapping[str, object], **more: object) -> str:
        choice = {"index": 0, "delta": delta, **more}
        return json.dumps({"id": "c1", "object": "chat.completion.chunk", "model": "gpt-test", "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    for part in pieces(answer.reasoning, answer.piece):
        yield chunk({answer.reasoning_field: part})
    for part in pieces(answer.text or "", answer.piece):
        yield chunk({"content": part})
    for index, (name, arguments) in enumerate(answer.tools):
        call = {"index": index, "id": f"t{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [call]})
        for part in pieces(arguments, answer.piece):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, finish_reason=answer.finish_reason)
    if with_usage and answer.usage is not None:
        yield json.dumps({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": answer.usage})
    yield "[DONE]"


def pieces(text: str, length: int) -> Iterator[str]:
    for start in range(0, len(text), length):
        yield text[start : start + length]


def _completion(answer: Says) -> Any:
    if answer.body is not None:
        return answer.body
    message: dict[str, object] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message[answer.reasoning_field] = answer.reasoning
    if answer.tools:
        message["tool_calls"] = [
            {"id": f"t{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(answer.tools)
        ]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    completion = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test", "choices": [choice]}
    return completion if answer.usage is None else {**completion, "usage": answer.usage}


async def send_parts(answer: Sends, request: web.Request, over: asyncio.Event) -> web.StreamResponse:
    """Send the parts until the client goes, or the test is over."""
    response = web.StreamResponse(headers={"Content-Type": answer.content_type, **answer.headers})
    await response.prepare(request)
    part = b""
    with suppress(ConnectionError):
        for part in answer.parts:
            await response.write(part)
        while answer.hangs and not over.is_set() and request.transport and not request.transport.is_closing():
            await response.write(part)
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_SECONDS)
    return response


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"id": "c1", "choi')
    if request.transport:
        request.transport.close()
    return response


@asynccontextmanager
async def openai_standin() -> AsyncIterator[OpenAIStandIn]:
    """Serve on a free port inside a with-block."""
    standin = OpenAIStandIn()
    app = web.Application()
    app.router.add_get("/v1/models", standin.list_models)
    app.router.add_post("/v1/chat/completions", standin.complete)
    app.router.add_post("/v1/embeddings", standin.embed)
    async with serving(app) as address:
        standin.base_url = f"{address}/v1"
        try:
            yield standin
        finally:
            await standin.close()
