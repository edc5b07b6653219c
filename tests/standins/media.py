"""Services that make pictures and sounds, on 127.0.0.1: OpenAI's, Stable Diffusion's WebUI, Hugging Face's."""

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from agent_core.testing.media import MP3, PNG

PNG_BASE64 = base64.b64encode(PNG).decode()


@dataclass(frozen=True, slots=True)
class Answers:
    """An answer as it is; `body` is sent as JSON unless it is bytes. A status of 0 is no answer at all."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked: JSON, the fields of a form, or bytes."""

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
    """Gives what a test wrote for it, then what such a service usually gives; at the end `closing` is called."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    _answers: deque[Answers] = field(default_factory=deque)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answers(self, *answers: Answers) -> None:
        """Give these in order, whatever is asked."""
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
        """Let go of everybody who still waits."""
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
    """All of them on a free port, for as long as the context lasts."""
    standin, app = MediaStandIn(), web.Application(client_max_size=30 * 2**20)
    app.router.add_post("/{path:.*}", standin.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    standin.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield standin
    finally:
        standin.close()
        for close in standin.closing:
            await close()
        await runner.cleanup()
