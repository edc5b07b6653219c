"""Images, transcriptions and speech by OpenAI or a compatible endpoint, with what each of them costs.

Prices come from the price list: tokens for images, seconds for audio, characters or tokens for speech. If the endpoint
reports no usage, the maximum is assumed.
"""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.capabilities.models.endpoint_errors import Ability
from agent_core.capabilities.models.model_endpoint import ModelEndpoint
from agent_core.errors import CommandError
from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.media import GeneratedFile, Shape, Transcription
from agent_core.providers.limited_replies import MAX_MEDIA_BYTES

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
# Not deprecated in the SDK of October 2026.
IMAGE_MODEL, AUDIO_MODEL = "gpt-image-2.5-flare", "gpt-transcribe"
PNG_OPTION_MODELS = ("gpt-image", "chatgpt-image")  # these always return base64 and reject `response_format`
SIZES: dict[Shape, str] = {"square": "1024x1024", "landscape": "1536x1024", "portrait": "1024x1536"}
MAX_IMAGE_TOKENS = 8_000  # gpt-image-1 took 6,240 for its dearest picture of these sizes, gpt-image-2 about 7,000
MIN_BYTES_PER_SECOND = 1_000  # 8 kbit/s, a low bit rate: gives the longest duration of a file
AUDIO_TOKENS_PER_SECOND = 20  # gpt-4o-transcribe takes about 17, of 6 dollars a million, for its 0.6 cents a minute
TEXT_TOKENS_PER_SECOND = 10  # faster than any speech
SPEECH_TOKENS_PER_CHARACTER = 2  # gpt-4o-mini-tts takes about 1.4, of 12 dollars a million, for its 1.5 cents a minute
IMAGES, AUDIO, SPEECH = Ability(name="images"), Ability(name="audio transcriptions"), Ability(name="speech")


@dataclass(slots=True, kw_only=True)
class OpenAIMedia(ModelEndpoint):
    """An OpenAI-compatible endpoint for media. `seconds` is the timeout of a request."""

    seconds: float = 300.0
    max_reply_bytes: int = MAX_MEDIA_BYTES

    def usage(self, units: Mapping[str, int], model: str) -> Usage:
        """Convert the units of a call (tokens, seconds of audio, characters) to token counts and US dollars."""
        prompt, completion = units.get("input_tokens", 0), units.get("output_tokens", 0)
        return Usage(prompt=prompt, completion=completion, cost=self.prices.of_units(units, model) or FREE)


@dataclass(frozen=True, slots=True)
class OpenAIMediaModel:
    """Base of the endpoint's models. `ability`: the names of their settings, for error messages."""

    endpoint: OpenAIMedia
    model: str
    ability: Ability

    @property
    def label(self) -> str:
        return f"{self.model} · {self.endpoint.host}"

    async def send(self, ask: "Callable[[AsyncOpenAI], Awaitable[T]]") -> T:
        """Call the SDK; raise ModelError, whose text never contains the API key."""
        client = await self.endpoint.client()
        await asyncio.to_thread(lambda: (client.images, client.audio.transcriptions, client.audio.speech))  # imports
        try:
            async with asyncio.timeout(self.endpoint.seconds):
                return await ask(client)
        except self.endpoint.sdk_errors as error:
            raise self.endpoint.model_error(error, self.model, self.ability) from None


@dataclass(frozen=True, slots=True)
class OpenAIImages(OpenAIMediaModel):
    """Implements `Images`."""

    model: str = IMAGE_MODEL
    ability: Ability = IMAGES

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        return self.endpoint.prices.of_units(_picture_units(prompt), self.model)

    async def draw(self, prompt: str, shape: Shape) -> GeneratedFile:
        format_options: Any = (
            {"output_format": "png"} if self.model.startswith(PNG_OPTION_MODELS) else {"response_format": "b64_json"}
        )
        parameters: Any = {"model": self.model, "prompt": prompt, "size": SIZES[shape], "n": 1, **format_options}
        answer = await self.send(lambda client: client.images.generate(**parameters))
        units = _reported_tokens(getattr(answer, "usage", None)) or _picture_units(prompt)
        packed = getattr(next(iter(getattr(answer, "data", None) or ()), None), "b64_json", None)
        try:
            data = base64.b64decode(packed or "", validate=True)
        except (binascii.Error, ValueError, TypeError):
            data = b""
        return GeneratedFile(data=data, usage=self.endpoint.usage(units, self.model))


@dataclass(frozen=True, slots=True)
class OpenAITranscriber(OpenAIMediaModel):
    """Implements `Transcriber`."""

    model: str = AUDIO_MODEL
    ability: Ability = AUDIO

    def price(self, size: int) -> Decimal | None:
        return self.endpoint.prices.of_units(_sound_units(size / MIN_BYTES_PER_SECOND), self.model)

    async def transcribe(self, name: str, data: bytes) -> Transcription:
        parameters: Any = {"model": self.model, "file": (name.rpartition("/")[2], data), "response_format": "json"}
        answer = await self.send(lambda client: client.audio.transcriptions.create(**parameters))
        text = getattr(answer, "text", None)
        if not isinstance(text, str):
            raise CommandError(f"{self.label} answered without a transcription.")
        usage = getattr(answer, "usage", None)
        units = {**_sound_units(_audio_seconds(usage, len(data))), **_reported_audio_tokens(usage)}
        return Transcription(text=text, usage=self.endpoint.usage(units, self.model))


@dataclass(frozen=True, slots=True)
class OpenAIVoice(OpenAIMediaModel):
    """Implements `Voice`."""

    ability: Ability = SPEECH
    voice: str = "alloy"

    def price(self, text: str) -> Decimal | None:
        return self.endpoint.prices.of_units(_speech_units(text), self.model)

    async def speak(self, text: str) -> GeneratedFile:
        parameters: Any = {"model": self.model, "voice": self.voice, "input": text, "response_format": "mp3"}
        answer = await self.send(lambda client: client.audio.speech.create(**parameters))
        return GeneratedFile(data=answer.content, usage=self.endpoint.usage(_speech_units(text), self.model))


def _picture_units(prompt: str) -> dict[str, int]:
    return {"input_tokens": len(prompt), "output_tokens": MAX_IMAGE_TOKENS}


def _speech_units(text: str) -> dict[str, int]:
    return {
        "input_characters": len(text),
        "input_tokens": len(text),
        "output_tokens": SPEECH_TOKENS_PER_CHARACTER * len(text),
    }


def _sound_units(seconds: float) -> dict[str, int]:
    whole, tokens = ceil(seconds), ceil(seconds * AUDIO_TOKENS_PER_SECOND)
    return {
        "audio_seconds": whole,
        "input_audio_seconds": whole,
        "input_tokens": tokens,
        "input_audio_tokens": tokens,
        "output_tokens": ceil(seconds * TEXT_TOKENS_PER_SECOND),
    }


def _reported_tokens(usage: object) -> dict[str, int]:
    """Token counts that the endpoint reports; empty if they are missing or invalid."""
    counts = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
    reported = {name: count for name, count in counts.items() if isinstance(count, int) and 0 <= count < 10**9}
    return reported if len(reported) == len(counts) else {}


def _reported_audio_tokens(usage: object) -> dict[str, int]:
    """Token counts that the endpoint reports. Audio tokens are counted separately, because they cost more.

    If the endpoint does not say how many input tokens are audio, all count as audio. Empty without valid counts.
    """
    reported = _reported_tokens(usage)
    audio_tokens = getattr(getattr(usage, "input_token_details", None), "audio_tokens", None)
    most = reported.get("input_tokens", 0)
    sound = audio_tokens if isinstance(audio_tokens, int) and 0 <= audio_tokens <= most else most
    return {**reported, "input_audio_tokens": sound} if reported else {}


def _audio_seconds(usage: object, size: int) -> float:
    """The duration in seconds that the endpoint reports, else the longest possible for a file of `size` bytes."""
    seconds = getattr(usage, "seconds", None)
    is_told = isinstance(seconds, int | float) and 0 <= seconds <= size
    return float(seconds) if is_told and seconds is not None else size / MIN_BYTES_PER_SECOND
