"""What makes pictures and sounds, and what hears words in them."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from agent_core.model.usage import Usage

Shape: TypeAlias = Literal["square", "landscape", "portrait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A picture or a sound as the bytes of a file, and what it took."""

    data: bytes
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The words in a sound, and what hearing them took."""

    text: str
    usage: Usage


class Images(Protocol):
    """Draws pictures. `label` says by which model and where."""

    @property
    def label(self) -> str:
        """What people are told that draws."""
        ...

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        """The most US dollars that this picture may cost, or None when no price is known."""
        ...

    async def draw(self, prompt: str, shape: Shape) -> Made:
        """One picture; raise CommandError or ModelError with a sentence that holds no key."""
        ...


class Transcriber(Protocol):
    """Writes down what is said in a sound. `label` says by which model and where."""

    @property
    def label(self) -> str:
        """What people are told that listens."""
        ...

    def price(self, size: int) -> Decimal | None:
        """The most US dollars that a file of so many bytes may cost, or None when no price is known."""
        ...

    async def transcribe(self, name: str, data: bytes) -> Heard:
        """The words in a file of that name; raise CommandError or ModelError with a sentence that holds no key."""
        ...


class Voice(Protocol):
    """Speaks a text, as an MP3 file. `label` says by which model and where."""

    @property
    def label(self) -> str:
        """What people are told that speaks."""
        ...

    def price(self, text: str) -> Decimal | None:
        """The most US dollars that this text may cost, or None when no price is known."""
        ...

    async def speak(self, text: str) -> Made:
        """The text spoken; raise CommandError or ModelError with a sentence that holds no key."""
        ...
