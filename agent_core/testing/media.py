"""Fake image, speech and transcription services with constant results and configurable prices."""

from dataclasses import dataclass, field
from decimal import Decimal

from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.media import GeneratedFile, Shape, Transcription

PNG = bytes.fromhex(  # one blue pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000"
    "000c49444154789c63308bbc090002310169c3484f360000000049454e44ae426082"
)
MP3 = b"ID3\x04\0\0\0\0\0\0" + b"\xff\xfb\x90\0" + bytes(413)  # an ID3 tag and a frame of silence


@dataclass(slots=True)
class FakeImages:
    """Returns the same image for every prompt, and records prompts and shapes."""

    data: bytes = PNG
    cost: Decimal | None = FREE
    label: str = "pencil · here"
    asked: list[tuple[str, Shape]] = field(default_factory=list)

    def price(self, prompt: str, shape: Shape) -> Decimal | None:
        return self.cost

    async def draw(self, prompt: str, shape: Shape) -> GeneratedFile:
        self.asked.append((prompt, shape))
        return GeneratedFile(data=self.data, usage=Usage(cost=self.cost or FREE))


@dataclass(slots=True)
class FakeTranscriber:
    """Returns the same text for every sound file, and records names and bytes of the files."""

    text: str = "Hello."
    cost: Decimal | None = FREE
    label: str = "ears · here"
    asked: list[tuple[str, bytes]] = field(default_factory=list)

    def price(self, size: int) -> Decimal | None:
        return self.cost

    async def transcribe(self, name: str, data: bytes) -> Transcription:
        self.asked.append((name, data))
        return Transcription(text=self.text, usage=Usage(cost=self.cost or FREE))


@dataclass(slots=True)
class FakeSpeech:
    """Returns the same sound for every text, and records the texts."""

    data: bytes = MP3
    cost: Decimal | None = FREE
    label: str = "voice · here"
    asked: list[str] = field(default_factory=list)

    def price(self, text: str) -> Decimal | None:
        return self.cost

    async def speak(self, text: str) -> GeneratedFile:
        self.asked.append(text)
        return GeneratedFile(data=self.data, usage=Usage(cost=self.cost or FREE))
