"""Ports of services: image generation, transcription, text-to-speech, and posts on a public network."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from agent_core.model.model_calls import Usage

Shape: TypeAlias = Literal["square", "landscape", "portrait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFile:
    """A generated image or sound: the bytes of the file, and the usage of the call."""

    data: bytes
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcription:
    """A transcription, and the usage of the call."""

    text: str
    usage: Usage


class MediaModel(Protocol):
    """A model for images or sound."""

    @property
    def label(self) -> str:
        """Model and host, as shown to people."""


class Images(MediaModel, Protocol):
    """Generates images."""

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        """Upper bound of the cost of this image in US dollars, or None if no price is known."""

    async def draw(self, prompt: str, shape: Shape) -> GeneratedFile:
        """Generate one image; raise CommandError or ModelError with a message without secrets."""


class Transcriber(MediaModel, Protocol):
    """Transcribes sound files."""

    def price(self, size: int) -> Decimal | None:
        """Upper bound of the cost in US dollars for a file of `size` bytes, or None if no price is known."""

    async def transcribe(self, name: str, data: bytes) -> Transcription:
        """The words spoken in a sound file; raise CommandError or ModelError with a message without secrets."""


class Voice(MediaModel, Protocol):
    """Converts text to speech, as MP3."""

    def price(self, text: str) -> Decimal | None:
        """Upper bound of the cost in US dollars for this text, or None if no price is known."""

    async def speak(self, text: str) -> GeneratedFile:
        """Speak the text; return it as MP3. Raise CommandError or ModelError with a message without secrets."""


class PostPublisher(Protocol):
    """Publishes posts."""

    @property
    def label(self) -> str:
        """The network, as shown to people."""

    async def post(self, text: str) -> str:
        """Publish the text without any retry; return the post's URL, or "" if it is unknown.

        Raise CommandError, without secrets in its message. If it is not known whether the text was posted, the message
        says so.
        """
