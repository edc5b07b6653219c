"""Commands that generate images, speak texts and transcribe audio files; checks the formats and saves the results."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import PurePosixPath
from typing import TypeVar

from pydantic import BaseModel, Field

from agent_core.capabilities.files.commands import FILE_ALIASES, Filename
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.ports.files import Files
from agent_core.ports.media import Images, Shape, Transcriber, Voice
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, declare

T = TypeVar("T")
MAX_PROMPT_CHARACTERS = 4_000
MAX_SPEECH_CHARACTERS = 4_096  # developers.openai.com/api/reference: `input` of speech
# the same page: `file` of transcriptions
AUDIO_FORMATS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "ogg", "wav", "webm")
MAX_AUDIO_BYTES = 25 * 2**20  # developers.openai.com/api/docs/guides/speech-to-text
MAX_MEDIA_BYTES = 20 * 2**20
MAX_NAME_NUMBERS = 200
MAX_NAME_CHARACTERS = 40
IMAGE_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"))
NO_IMAGE_MODEL = "no image model is set."
NO_AUDIO_MODEL = "no model for sounds is set."
NO_SPEECH_MODEL = "no voice is set."


class Picture(BaseModel):
    """What a picture is to show."""

    prompt: str = Field(
        description="what the picture shows, and in what style", min_length=1, max_length=MAX_PROMPT_CHARACTERS
    )
    shape: Shape = Field(default="square", description="square, landscape or portrait")


class Speech(BaseModel):
    """What is to be said."""

    text: str = Field(description="what is said", min_length=1, max_length=MAX_SPEECH_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaCommands:
    """A service that is None switches its command off; `no_images`, `no_transcriber` or `no_voice` says why."""

    images: Images | None = None
    transcriber: Transcriber | None = None
    voice: Voice | None = None
    no_images: str = NO_IMAGE_MODEL
    no_transcriber: str = NO_AUDIO_MODEL
    no_voice: str = NO_SPEECH_MODEL

    async def generate_image(self, given: Picture, context: CommandContext) -> CommandOutput:
        """Have a picture made, which is shown in the thread and kept under images/."""
        images = _require(self.images, self.no_images)
        async with context.tracker.reserve(images.price(given.prompt, given.shape), images.label, "image"):
            made = await images.draw(given.prompt, given.shape)
        context.tracker.record("image", made.usage)
        ending = _image_suffix(made.data)
        if not ending or len(made.data) > MAX_MEDIA_BYTES:
            raise CommandError(f"{images.label} gave no picture that can be shown ({counted(len(made.data), 'byte')}).")
        path = await _save_media(context.files, "images", given.prompt, ending, made.data)
        return CommandOutput(text=f"The picture is in {path} ({counted(len(made.data), 'byte')}).", files=(path,))

    async def read_audio_from_file(self, given: Filename, context: CommandContext) -> str:
        """Have the words in a sound file written down."""
        transcriber = _require(self.transcriber, self.no_transcriber)
        await context.check_file(given.filename)
        data = await _read_audio(given.filename, context.files)
        async with context.tracker.reserve(transcriber.price(len(data)), transcriber.label, "audio"):
            heard = await transcriber.transcribe(given.filename, data)
        context.tracker.record("audio", heard.usage)
        return heard.text.strip() or f"No words were heard in {given.filename}."

    async def speak(self, given: Speech, context: CommandContext) -> CommandOutput:
        """Have a text spoken as an audio note, which is put into the thread and kept under audio/."""
        voice = _require(self.voice, self.no_voice)
        if not given.text.strip():
            raise CommandError("There is nothing to say.")
        async with context.tracker.reserve(voice.price(given.text), voice.label, "audio"):
            made = await voice.speak(given.text)
        context.tracker.record("audio", made.usage)
        if not _is_mp3(made.data) or len(made.data) > MAX_MEDIA_BYTES:
            raise CommandError(f"{voice.label} gave no sound that can be played ({counted(len(made.data), 'byte')}).")
        path = await _save_media(context.files, "audio", given.text, "mp3", made.data)
        return CommandOutput(text=f"The audio note is in {path} ({counted(len(made.data), 'byte')}).", files=(path,))

    async def preview_image(self, given: Picture, _context: CommandContext) -> Preview:
        """The model, and the highest price."""
        images = _require(self.images, self.no_images)
        price = images.price(given.prompt, given.shape)
        return Preview(title=f"a {given.shape} picture by {images.label}{_price_text(price)}", body=given.prompt)

    async def preview_audio(self, given: Filename, context: CommandContext) -> Preview:
        """The size of the file, the model, and the highest price."""
        transcriber = _require(self.transcriber, self.no_transcriber)
        data = await _read_audio(given.filename, context.files)
        title = f"{given.filename} ({counted(len(data), 'byte')}) is sent to {transcriber.label}"
        basis = await context.files.fingerprint(given.filename)
        price = _price_text(transcriber.price(len(data)))
        return Preview(title=f"{title}{price}", body="", target=given.filename, basis=basis)

    async def preview_speech(self, given: Speech, _context: CommandContext) -> Preview:
        """The model, and the highest price."""
        voice = _require(self.voice, self.no_voice)
        return Preview(title=f"an audio note by {voice.label}{_price_text(voice.price(given.text))}", body=given.text)

    @property
    def commands(self) -> tuple[Command, ...]:
        spend = partial(declare, risks=("spend",), category="media", asks_models=True)
        drawing = {"text": "prompt", "description": "prompt", "image_prompt": "prompt", "size": "shape"}
        hearing, saying = ("read_audio", "transcribe_audio"), {"message": "text", "input": "text"}
        draw = spend(Picture, self.generate_image, self.preview_image, label="Generate image", aliases=drawing)
        hear = partial(spend, label="Read audio", synonyms=hearing, aliases=FILE_ALIASES, outside=True)
        say = spend(Speech, self.speak, self.preview_speech, label="Speak", synonyms=("say",), aliases=saying)
        listen = hear(Filename, self.read_audio_from_file, self.preview_audio)
        return (
            draw.switched("" if self.images else self.no_images),
            listen.switched("" if self.transcriber else self.no_transcriber),
            say.switched("" if self.voice else self.no_voice),
        )


def _require(ability: T | None, why: str) -> T:
    if ability is None:
        raise CommandError(f"This cannot be done here: {why}")
    return ability


def _price_text(price: Decimal | None) -> str:
    return f", at most ${price:.2f}" if price else ""


async def _read_audio(filename: str, files: Files) -> bytes:
    """The content of an audio file; raise CommandError for another file extension or more than 25 MiB."""
    if PurePosixPath(filename).suffix.lower().removeprefix(".") not in AUDIO_FORMATS:
        raise CommandError(f"{filename} is not called like a sound file; these are heard: {', '.join(AUDIO_FORMATS)}.")
    data = await files.read(filename)
    if not data:
        raise CommandError(f"{filename} is empty.")
    if len(data) > MAX_AUDIO_BYTES:
        raise CommandError(
            f"{filename} is too long ({counted(len(data), 'byte')}): at most {MAX_AUDIO_BYTES:,} can be heard."
        )
    return data


def _image_suffix(data: bytes) -> str:
    """The file extension for the image format that the first bytes show, or ""."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((ending for magic, ending in IMAGE_SIGNATURES if data.startswith(magic)), "")


def _is_mp3(data: bytes) -> bool:
    """Whether the data begins with an ID3 tag or an MPEG audio frame."""
    return data.startswith(b"ID3") or (data[:1] == b"\xff" and len(data) > 1 and data[1] & 0xE0 == 0xE0)


async def _save_media(files: Files, folder: str, about: str, ending: str, data: bytes) -> str:
    """Write the data under a new name made from `about`; return the path."""
    name = re.sub(r"\W+", "-", about.casefold())[:MAX_NAME_CHARACTERS].strip("-_") or "untitled"
    for number in range(1, MAX_NAME_NUMBERS):
        path = f"{folder}/{name}{f'-{number}' if number > 1 else ''}.{ending}"
        if await files.fingerprint(path) == "":
            await files.write(path, data)
            return path
    raise CommandError(f"There are too many files called {folder}/{name}.")
