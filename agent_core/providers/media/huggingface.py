"""Pictures and transcriptions by Hugging Face's inference, or whatever speaks it at another address.

A model that is not loaded answers 503 with the time that loading takes: it is asked again, for some minutes at most.
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import PurePosixPath

from agent_core.errors import CommandError
from agent_core.model.usage import FREE, Usage
from agent_core.ports.media import Heard, Made, Shape
from agent_core.ports.world import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import MAX_JSON_BYTES, MAX_MEDIA_BYTES
from agent_core.providers.llm.prices import Prices
from agent_core.providers.media.media_http import HttpService, ServiceReply

HUGGINGFACE_URL = "https://router.huggingface.co/hf-inference/models"
NAME = "Hugging Face"
SIZES: dict[Shape, tuple[int, int]] = {"square": (1024, 1024), "landscape": (1216, 832), "portrait": (832, 1216)}
MOST_TRIES, SHORTEST_WAIT, LONGEST_WAIT = 8, 1.0, 30.0
KINDS = {
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
WHY = {
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
    """One model by its name; `setting`, `key_setting` and `url_setting` name to people what the operator set."""

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
        """The model and where it runs."""
        return f"{self.model} · {self._service.host}"

    @property
    def price(self) -> Decimal | None:
        """Nothing where the operator says so: by token it cannot be told, as the time it takes is what is billed."""
        is_free = self.prices.free or self.prices.overrides.get(self.model) == (FREE, FREE)
        return FREE if is_free else None

    async def send(self, *, wish: object = None, data: bytes | None = None, kind: str = "") -> bytes:
        """What the model gives: a picture for a wish, JSON for a sound; raise CommandError where it gives nothing."""
        answer = await self._once(wish, data, kind)
        for _ in range(MOST_TRIES - 1):
            wait = _loading(answer)
            if wait is None:
                break
            await self.clock.sleep(wait)
            answer = await self._once(wish, data, kind)
        if answer.status != 200:
            why = WHY.get(answer.status, "try again later, or ask otherwise.")
            why = why.format(setting=self.setting, key_setting=self.key_setting, url_setting=self.url_setting)
            raise CommandError(f"{NAME} answered {answer.status}: {why}")
        return answer.data

    async def _once(self, wish: object, data: bytes | None, kind: str) -> ServiceReply:
        max_bytes = MAX_JSON_BYTES if wish is None else MAX_MEDIA_BYTES
        return await self._service.post(f"/{self.model}", json=wish, data=data, kind=kind, max_bytes=max_bytes)

    @property
    def _service(self) -> HttpService:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return HttpService(name=NAME, url=self.url, headers=headers, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class HuggingFaceImages:
    """Pictures by one model."""

    endpoint: HuggingFace

    @property
    def label(self) -> str:
        """The model and where it runs."""
        return self.endpoint.label

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        """Nothing where the operator says so, else unknown."""
        return self.endpoint.price

    async def draw(self, prompt: str, shape: Shape) -> Made:
        """One picture."""
        width, height = SIZES[shape]
        wish = {"inputs": prompt, "parameters": {"width": width, "height": height}}
        return Made(data=await self.endpoint.send(wish=wish), usage=Usage())


@dataclass(frozen=True, slots=True)
class HuggingFaceTranscriber:
    """Transcriptions by one model."""

    endpoint: HuggingFace

    @property
    def label(self) -> str:
        """The model and where it runs."""
        return self.endpoint.label

    def price(self, size: int) -> Decimal | None:
        """Nothing where the operator says so, else unknown."""
        return self.endpoint.price

    async def transcribe(self, name: str, data: bytes) -> Heard:
        """The words that the model hears."""
        kind = KINDS.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
        text = _told(await self.endpoint.send(data=data, kind=kind), "text")
        if not isinstance(text, str):
            raise CommandError(f"{NAME} answered without a transcription.")
        return Heard(text=text, usage=Usage())


def _loading(answer: ServiceReply) -> float | None:
    """Seconds until a model may be loaded; None where the answer is no such news."""
    told = _told(answer.data, "estimated_time") if answer.status == 503 else None
    if not isinstance(told, int | float) or not isfinite(told):
        return None
    return min(max(float(told), SHORTEST_WAIT), LONGEST_WAIT)


def _told(body: bytes, name: str) -> object:
    """What stands under a name in an answer's object, or None."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer.get(name) if isinstance(answer, dict) else None
