"""Reads PDF, Word and OpenDocument files and texts in old encodings, each in a short-lived process of its own."""

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.errors import CommandError
from agent_core.model.texts import decode_unicode
from agent_core.ports.documents import Reading
from agent_core.providers.documents.isolated_reader import BROKEN, SLOW, read_isolated

WORKER = Path(__file__).with_name("document_worker.py")
PATIENCE = 30.0
AT_ONCE = 2
MOST_KEPT = 4
OLD_WORD = b"\xd0\xcf\x11\xe0"
ARCHIVE = b"PK\x03\x04"
FAULTS = {
    "locked": "is locked with a password, so it cannot be read.",
    "textless": "holds no text. If it is a PDF, its pages are probably scanned pictures.",
    "hostile": "declares entities as no real document does, so it is left alone.",
    "large": "unpacks to more than can be read.",
    SLOW: "takes too long or too much memory to read.",
    BROKEN: "is damaged, so it cannot be read.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReader:
    """Text as it is; everything else by the worker. The last few readings are kept, as files are paged through."""

    seconds: float = PATIENCE
    worker: Path = WORKER
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), init=False, repr=False)
    _kept: dict[str, Reading] = field(default_factory=dict, init=False, repr=False)

    async def text_of(self, name: str, data: bytes) -> Reading:
        """The text; what is neither text nor a document is told as such."""
        kind = _kind(name, data)
        text = decode_unicode(data) if kind == "legacy" else None
        if text is not None:
            return Reading(text)
        if data.startswith(OLD_WORD):
            raise CommandError(f"{name} is in an old format of Microsoft Office; it can be read once saved as .docx.")
        if kind == "legacy" and b"\0" in data:
            raise _no_text(name, data)
        key = f"{kind} {hashlib.sha256(data).hexdigest()}"
        if key not in self._kept:
            async with self._turns:
                reading = _read(name, data, await read_isolated(self.worker, kind, given=data, seconds=self.seconds))
            self._keep(key, reading)
        return self._kept[key]

    def _keep(self, key: str, reading: Reading) -> None:
        self._kept[key] = reading
        for oldest in list(self._kept)[:-MOST_KEPT]:
            del self._kept[oldest]


def _kind(name: str, data: bytes) -> str:
    beginning = data[:1024]
    if beginning.lstrip().startswith(b"%PDF-") or (name.lower().endswith(".pdf") and b"%PDF-" in beginning):
        return "pdf"
    return "archive" if data.startswith(ARCHIVE) else "legacy"


def _read(name: str, data: bytes, answer: object) -> Reading:
    match answer:
        case {"text": str(text), "note": str(note)}:
            return Reading(text, note)
        case {"fault": "unknown"}:
            raise _no_text(name, data)
        case {"fault": str(fault)} if fault in FAULTS:
            raise CommandError(f"{name} {FAULTS[fault]}")
        case _:
            raise CommandError(f"{name} {FAULTS[BROKEN]}")


def _no_text(name: str, data: bytes) -> CommandError:
    return CommandError(f"{name} is not a text file ({len(data):,} bytes).")
