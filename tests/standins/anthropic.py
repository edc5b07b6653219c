"""A fake of Anthropic's Messages API on 127.0.0.1: scripted answers, its documented refusals, and a prompt cache."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from tests.standins.openai import (
    LOOK_SECONDS,
    Answer,
    CutsOff,
    Fails,
    Hangs,
    Request,
    Says,
    SaysPlain,
    Sends,
    cut_off,
    pieces,
    send_parts,
)
from tests.standins.serving import serving

MAX_BREAKPOINTS = 4
MIN_CACHED_WORDS = 20  # instead of 1,024 tokens, so that short prompts of tests are cached
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


@dataclass(slots=True)
class AnthropicStandIn:
    """The API. A word counts as a token.

    `models` have their longest reply; `thinking` are the types of thinking that they accept, and `thinks` what they do
    without being told. `lists` is False for a gateway without a list of models. `streams` is False for one that answers
    every request as a whole. `obeys` is False for a model that ignores a forced tool. `sees` is what the list of models
    says of pictures; None leaves it out, and only False refuses them. `listing` replaces the list of models.
    """

    base_url: str = ""
    key: str = ""
    models: dict[str, int] = field(default_factory=lambda: {"claude-sonnet-5-5": 64_000})
    thinking: Sequence[str] = ("adaptive", "disabled")
    thinks: bool = False
    lists: bool = True
    streams: bool = True
    obeys: bool = True
    sees: bool | None = None
    listing: Sends | None = None
    refuses: set[str] = field(default_factory=set)
    lost_a_stream: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[Request] = field(default_factory=list)
    _cache: set[str] = field(default_factory=set)
    _answers: deque[Answer] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answer) -> None:
        self._answers.extend(answers)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests if request.path.endswith("/messages")]

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        self.requests.append(Request(request.path, request.headers.copy(), {}))
        if fault := self._wrong_key(request):
            return _error(fault)
        if self.listing is not None:
            return await send_parts(self.listing, request, self._over)
        if not self.lists:
            return _error(Fails(404, "Not Found"))
        return web.json_response({"data": [self._info(name) for name in self.models], "has_more": False})

    async def create(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/messages."""
        body = await request.json()
        self.requests.append(Request(request.path, request.headers.copy(), body))
        if fault := self._wrong_key(request) or self._refused(body):
            return _error(fault)
        answer = self._answers.popleft() if self._answers else Says()
        match answer:
            case Says(body=None):
                return await self._say(self._as_asked(answer, body), request, body)
            case Fails():
                return _error(answer)
            case SaysPlain():
                return web.Response(text=answer.text, content_type=answer.content_type)
            case Sends():
                return await send_parts(answer, request, self._over)
            case CutsOff():
                return await cut_off(request)
            case Hangs(text=text):
                return await self._say(Says(text), request, body, stalls=True)
            case _:
                return web.json_response(getattr(answer, "body", None))

    async def close(self) -> None:
        """Release requests that still wait."""
        self._over.set()

    def _as_asked(self, answer: Says, body: Mapping[str, Any]) -> Says:
        """The answer as a tool call where a tool is forced."""
        is_forced = body.get("tool_choice", {}).get("type") == "tool"
        if not (is_forced and self.obeys) or answer.tools or answer.finish_reason == "content_filter":
            return answer
        return replace(answer, text=None, tools=((body["tool_choice"]["name"], answer.text or ""),))

    async def _say(
        self, answer: Says, request: web.Request, body: Mapping[str, Any], *, stalls: bool = False
    ) -> web.StreamResponse:
        usage = self._usage(answer, body)
        if not (body.get("stream") and self.streams):
            return web.json_response(_message(answer, usage, str(body["model"])))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for sent, event in enumerate(_events(answer, usage, str(body["model"]))):
                if stalls and event["type"] == "message_delta":
                    await self._wait_while_heard(request)
                if sent == answer.breaks_after:
                    if request.transport:
                        request.transport.close()
                    return response
                await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        except ConnectionError:
            self.lost_a_stream.set()
        return response

    async def _wait_while_heard(self, request: web.Request) -> None:
        """Wait until the test ends; raise ConnectionError when the client goes."""
        while not self._over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), LOOK_SECONDS)
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError

    def _usage(self, answer: Says, body: Mapping[str, Any]) -> dict[str, object] | None:
        if answer.usage is None or "input_tokens" in answer.usage:
            return None if answer.usage is None else dict(answer.usage)
        read, written, rest = self._cached(body)
        said = (answer.text or "").split() + [word for _, given in answer.tools for word in given.split()]
        thought = len(answer.reasoning.split())
        counts = {"input_tokens": rest, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        return counts | {
            "output_tokens": len(said) + thought,
            "output_tokens_details": {"thinking_tokens": thought},
        }

    def _cached(self, body: Mapping[str, Any]) -> tuple[int, int, int]:
        """Words read from the cache, written to it, and the rest; a prefix up to a breakpoint is one entry."""
        settings = [body.get(name) for name in ("model", "tools", "tool_choice", "thinking")]
        blocks = [*body.get("system", ()), *(block for each in body["messages"] for block in each["content"])]
        prefix, words, read, longest = json.dumps(settings), 0, 0, 0
        for block in blocks:
            prefix += f"\0{json.dumps(block.get('source', block.get('text')))}"
            words += len(block.get("text", "").split())
            if prefix in self._cache:
                read = words
            if "cache_control" in block and words >= MIN_CACHED_WORDS:
                self._cache.add(prefix)
                longest = words
        return read, max(0, longest - read), words - max(read, longest)

    def _wrong_key(self, request: web.Request) -> Fails | None:
        given = request.headers.get("X-Api-Key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        return Fails(401, "invalid x-api-key", code="authentication_error") if self.key not in ("", given) else None

    def _refused(self, body: Mapping[str, Any]) -> Fails | None:
        complaints = (*self._wrong_request(body), *self._unsupported(body))
        if body["model"] not in self.models:
            return Fails(404, f"model: {body['model']}", code="not_found_error")
        return Fails(400, complaints[0], code="invalid_request_error") if complaints else None

    def _wrong_request(self, body: Mapping[str, Any]) -> Iterator[str]:
        """What the API refuses of any model."""
        blocks = [*body.get("system", ()), *(block for each in body["messages"] for block in each["content"])]
        thinking, most = body.get("thinking", {}).get("type", ""), self.models.get(body["model"], 0)
        is_thinking = thinking in ("adaptive", "enabled") or (self.thinks and thinking != "disabled")
        if not body["messages"] or body["messages"][0]["role"] != "user":
            yield "messages: first message must use the user role"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield "messages: text content blocks must be non-empty"
        if sum("cache_control" in block for block in blocks) > MAX_BREAKPOINTS:
            yield "A maximum of 4 blocks with cache_control may be provided."
        if body["max_tokens"] > most > 0:
            yield f"max_tokens: {body['max_tokens']} > {most}, which is the maximum allowed number of output tokens"
        if is_thinking and body.get("tool_choice", {}).get("type") in ("tool", "any"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
        if "temperature" in body:
            yield "temperature: Extra inputs are not permitted"

    def _unsupported(self, body: Mapping[str, Any]) -> Iterator[str]:
        """What this model does not support."""
        thinking = body.get("thinking", {}).get("type")
        if thinking and thinking not in self.thinking:
            yield f"thinking.type.{thinking} is not supported for this model."
        if self.refuses & {*body.get("thinking", ())}:
            yield "thinking.display: Extra inputs are not permitted"
        if self.sees is False and '"image"' in json.dumps(body["messages"]):
            yield "messages.0.content.0: this model does not support image input"
        for name in sorted(self.refuses & {*body, *body.get("output_config", ())}):
            yield f"{name}: Extra inputs are not permitted"
        if "cache_control" in self.refuses and "cache_control" in json.dumps(body):
            yield "cache_control: Extra inputs are not permitted"

    def _info(self, name: str) -> dict[str, object]:
        types = {kind: {"supported": kind in self.thinking} for kind in ("adaptive", "enabled", "disabled")}
        capabilities = {"thinking": {"supported": True, "types": types}, "effort": {"supported": True}}
        if self.sees is not None:
            capabilities["image_input"] = {"supported": self.sees}
        facts = {"id": name, "type": "model", "display_name": name, "created_at": "2026-11-01T00:00:00Z"}
        return facts | {"max_input_tokens": 1_000_000, "max_tokens": self.models[name], "capabilities": capabilities}


def _error(fault: Fails) -> web.Response:
    error = {"type": fault.code or "api_error", "message": fault.message}
    return web.json_response({"type": "error", "error": error}, status=fault.status, headers=fault.headers)


def _blocks(answer: Says) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": "s"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for index, (name, arguments) in enumerate(answer.tools):
        blocks.append({"type": "tool_use", "id": f"t{index}", "name": name, "input": arguments})
    return blocks


def _stop(answer: Says) -> dict[str, object]:
    reason = "tool_use" if answer.tools and answer.finish_reason == "stop" else STOP_REASONS[answer.finish_reason]
    details = {"type": "refusal", "explanation": "I cannot help with this."} if reason == "refusal" else None
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _message(answer: Says, usage: object, model: str) -> dict[str, object]:
    content = [
        {**block, "input": json.loads(str(block["input"]))} if "input" in block else block for block in _blocks(answer)
    ]
    head = {"id": "m1", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": content, **_stop(answer), "usage": usage}


def _events(answer: Says, usage: Mapping[str, object] | None, model: str) -> Iterator[dict[str, Any]]:
    head = {"id": "m1", "type": "message", "role": "assistant", "model": model, "content": []}
    begun = {**usage, "output_tokens": 1, "output_tokens_details": None} if usage else None
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "usage": begun}}
    yield {"type": "ping"}
    for index, block in enumerate(_blocks(answer)):
        name, kind = {"thinking": ("thinking", "thinking_delta"), "text": ("text", "text_delta")}.get(
            str(block["type"]), ("input", "input_json_delta")
        )
        empty = {**block, name: {} if name == "input" else ""}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        field_name = "partial_json" if name == "input" else name
        for part in pieces(str(block[name]), answer.piece):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, field_name: part}}
        yield {"type": "content_block_stop", "index": index}
    ended = {name: usage[name] for name in usage if name.startswith("output")} if usage else None
    yield {"type": "message_delta", "delta": _stop(answer), "usage": ended}
    yield {"type": "message_stop"}


@asynccontextmanager
async def anthropic_standin() -> AsyncIterator[AnthropicStandIn]:
    """Serve on a free port inside a with-block."""
    standin = AnthropicStandIn()
    app = web.Application()
    app.router.add_get("/v1/models", standin.list_models)
    app.router.add_post("/v1/messages", standin.create)
    async with serving(app) as standin.base_url:
        try:
            yield standin
        finally:
            await standin.close()
