"""Images and transcriptions by the Hugging Face inference API, or a compatible service; waits while a model loads.

While a model is loading, the API answers 503 with an estimated time. The request is then sent up to 8 times, after
waits of 1 to 30 s.
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import PurePosixPath

from agent_core.capabilities.media.media_http import HttpService, ServiceReply
from agent_core.capabilities.models.prices import Prices
from agent_core.errors import CommandError
from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.clock import Clock
from agent_core.ports.media import GeneratedFile, Shape, Transcription
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import MAX_JSON_BYTES, MAX_MEDIA_BYTES

HUGGINGFACE_URL = "https://router.huggingface.co/hf-inference/models"
NAME = "Hugging Face"
SIZES: dict[Shape, tuple[int, int]] = {"square": (1024, 1024), "landscape": (1216, 832), "portrait": (832, 1216)}
MAX_ATTEMPTS, MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 8, 1.0, 30.0
MEDIA_TYPES = {
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".mp4": "audio/mp4",
    ".mpeg": "audio/mpeg",
    ".mpga": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".wav": "audio/wav",
    ".webm": "audio/webm",
}
STATUS_ADVICE = {
    401: "it does not accept the token: the operator should check {key_setting}.",
    402: "the account's credit is used up.",
    403: "it does not accept the token for this model: the operator should check {key_setting}.",
    404: "it has no such model: the operator should check {setting} and {url_setting}.",
    413: "that is too much for it.",
    429: "too much was asked for now; try again later.",
    503: "the model is still loading; try again later.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HuggingFace:
    """A model at the API. `setting`, `key_setting` and `url_setting` are names of settings, for error messages."""

    model: str
    setting: str
    token: str = field(default="", repr=False)
    url: str = HUGGINGFACE_URL
    prices: Prices = field(default_factory=lambda: Prices({}))
    clock: Clock = field(default_factory=SystemClock)
    seconds: float = 120.0
    key_setting: str = "its key"
    url_setting: str = "its address"

    @property
    def label(self) -> str:
        return f"{self.model} · {self._service.host}"

    @property
    def price(self) -> Decimal | None:
        """0 if the operator set the model's price to 0, else None (unknown), because Hugging Face bills by time."""
        is_free = self.prices.free or self.prices.overrides.get(self.model) == (FREE, FREE)
        return FREE if is_free else None

    async def send(self, *, json_body: object = None, data: bytes | None = None, kind: str = "") -> bytes:
        """Send JSON, or a sound of media type `kind`; return the response body. Raise CommandError on any error."""
        answer = await self._post(json_body, data, kind)
        for _ in range(MAX_ATTEMPTS - 1):
            wait = _loading_seconds(answer)
            if wait is None:
                break
            await self.clock.sleep(wait)
            answer = await self._post(json_body, data, kind)
        if answer.status != 200:
            why = STATUS_ADVICE.get(answer.status, "try again later, or ask otherwise.")
            why = why.format(setting=self.setting, key_setting=self.key_setting, url_setting=self.url_setting)
            raise CommandError(f"{NAME} answered {answer.status}: {why}")
        return answer.data

    async def _post(self, json_body: object, data: bytes | None, kind: str) -> ServiceReply:
        max_bytes = MAX_JSON_BYTES if json_body is None else MAX_MEDIA_BYTES
        return await self._service.post(f"/{self.model}", json=json_body, data=data, kind=kind, max_bytes=max_bytes)

    @property
    def _service(self) -> HttpService:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return HttpService(name=NAME, url=self.url, headers=headers, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class _HuggingFaceMedia:
    endpoint: HuggingFace

    @property
    def label(self) -> str:
        return self.endpoint.label


class HuggingFaceImages(_HuggingFaceMedia):
    """Implements `Images`."""

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        return self.endpoint.price

    async def draw(self, prompt: str, shape: Shape) -> GeneratedFile:
        width, height = SIZES[shape]
        json_body = {"inputs": prompt, "parameters": {"width": width, "height": height}}
        return GeneratedFile(data=await self.endpoint.send(json_body=json_body), usage=Usage())


class HuggingFaceTranscriber(_HuggingFaceMedia):
    """Implements `Transcriber`."""

    def price(self, size: int) -> Decimal | None:
        return self.endpoint.price

    async def transcribe(self, name: str, data: bytes) -> Transcription:
        kind = MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
        text = _json_field(await self.endpoint.send(data=data, kind=kind), "text")
        if not isinstance(text, str):
            raise CommandError(f"{NAME} answered without a transcription.")
        return Transcription(text=text, usage=Usage())


def _loading_seconds(answer: ServiceReply) -> float | None:
    """Seconds until the model is expected to be loaded; None for any other answer."""
    told = _json_field(answer.data, "estimated_time") if answer.status == 503 else None
    if not isinstance(told, int | float) or not isfinite(told):
        return None
    return min(max(float(told), MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)


def _json_field(body: bytes, name: str) -> object:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer.get(name) if isinstance(answer, dict) else None
