"""Fake image and audio services on 127.0.0.1: OpenAI, Stable Diffusion WebUI, Hugging Face."""

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from agent_core.testing.media import MP3, PNG
from tests.standins.serving import serving

PNG_BASE64 = base64.b64encode(PNG).decode()


@dataclass(frozen=True, slots=True)
class Answers:
    """An HTTP answer; `body` is sent as JSON unless it is bytes. With status 0 no answer is sent."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded request: JSON, the fields of a form, or bytes."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]
    data: bytes = b""


OPENAI_IMAGE = Answers(
    {"created": 1, "data": [{"b64_json": PNG_BASE64}], "usage": {"input_tokens": 9, "output_tokens": 100}}
)
DEFAULT_ANSWERS: dict[str, Answers] = {
    "/v1/images/generations": OPENAI_IMAGE,
    "/v1/audio/transcriptions": Answers({"text": "Hello there.", "usage": {"type": "duration", "seconds": 60}}),
    "/v1/audio/speech": Answers(MP3, headers={"Content-Type": "audio/mpeg"}),
    "/sdapi/v1/txt2img": Answers({"images": [PNG_BASE64], "info": "{}"}),
    "/hub/draws": Answers(PNG, headers={"Content-Type": "image/png"}),
    "/hub/hears": Answers({"text": "Hello there."}),
}


@dataclass(slots=True)
class MediaStandIn:
    """Gives the answers that a test defined, then default ones; at the end `closing` is called."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _answers: deque[Answers] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answers) -> None:
        self._answers.extend(answers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """POST to any of them."""
        self.asked.append(await _read(request))
        self.begun.set()
        usual = DEFAULT_ANSWERS.get(request.path, Answers({"error": "There is no such model."}, 404))
        answer = self._answers.popleft() if self._answers else usual
        if not answer.status:
            await self._over.wait()
        if isinstance(answer.body, bytes):
            return web.Response(body=answer.body, status=answer.status or 503, headers=answer.headers)
        return web.json_response(answer.body, status=answer.status or 503, headers=answer.headers)

    def close(self) -> None:
        """Release requests that still wait."""
        self._over.set()


async def _read(request: web.Request) -> Asked:
    headers = request.headers.copy()
    if request.content_type == "multipart/form-data":
        form = await request.post()
        file = form.get("file")
        data = file.file.read() if isinstance(file, web.FileField) else b""
        name = {"file": file.filename} if isinstance(file, web.FileField) else {}
        plain = {key: value for key, value in form.items() if isinstance(value, str)}
        return Asked(request.path, headers, {**plain, **name}, data)
    body = await request.read()
    return Asked(request.path, headers, json.loads(body) if request.content_type == "application/json" else {}, body)


@asynccontextmanager
async def media_standin() -> AsyncIterator[MediaStandIn]:
    """Serve all of them on a free port inside a with-block."""
    standin, app = MediaStandIn(), web.Application(client_max_size=30 * 2**20)
    app.router.add_post("/{path:.*}", standin.answer)
    async with serving(app) as standin.url:
        try:
            yield standin
        finally:
            standin.close()
            for close in standin.closing:
                await close()
