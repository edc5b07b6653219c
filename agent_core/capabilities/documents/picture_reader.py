"""Implements `Pictures`: short-lived worker processes decode a picture and encode it again for a model."""

import asyncio
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.capabilities.documents.isolated_worker import BROKEN, SLOW, read_isolated
from agent_core.errors import CommandError
from agent_core.model.model_calls import Image
from agent_core.ports.documents import ReadPicture

WORKER = Path(__file__).with_name("picture_worker.py")
TIMEOUT_SECONDS = 20.0
MAX_PARALLEL = 2
MAX_PICTURE_BYTES = 20 * 2**20
FAULTS = {
    "unknown": "is not a picture that can be viewed: these are PNG, JPEG, GIF, WebP and BMP.",
    "large": "has too many pixels to be viewed: at most 50,000,000.",
    SLOW: "takes too long or too much memory to decode.",
    BROKEN: "is damaged, so it cannot be viewed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureReader:
    """Implements `Pictures` with Pillow."""

    seconds: float = TIMEOUT_SECONDS
    worker: Path = WORKER
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PARALLEL), init=False, repr=False)

    async def picture_of(self, name: str, data: bytes) -> ReadPicture:
        if not data:
            raise CommandError(f"{name} is empty.")
        if len(data) > MAX_PICTURE_BYTES:
            raise CommandError(
                f"{name} is too large ({len(data):,} bytes): at most {MAX_PICTURE_BYTES:,} can be viewed."
            )
        async with self._slots:
            answer = await read_isolated(self.worker, given=data, seconds=self.seconds)
        match answer:
            case {"type": str(media_type), "data": str(encoded), "note": str(note)}:
                return ReadPicture(Image(media_type, b64decode(encoded)), note)
            case {"fault": str(fault)} if fault in FAULTS:
                raise CommandError(f"{name} {FAULTS[fault]}")
            case _:
                raise CommandError(f"{name} {FAULTS[BROKEN]}")
