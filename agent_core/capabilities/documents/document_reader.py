"""Extracts text from PDF, Word, OpenDocument and legacy encodings in short-lived worker processes.

Unicode text is decoded in this process; old formats of Microsoft Office are refused.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cachetools import LRUCache

from agent_core.capabilities.documents.isolated_worker import BROKEN, SLOW, read_isolated
from agent_core.capabilities.documents.worker_confinement import unconfined_root_fault
from agent_core.errors import CommandError
from agent_core.ports.documents import DocumentText
from agent_core.text.decoding import decode_unicode

WORKER = Path(__file__).with_name("document_worker.py")
TIMEOUT_SECONDS = 30.0
MAX_PARALLEL = 2
MAX_CACHED = 4
OLE_MAGIC = b"\xd0\xcf\x11\xe0"
ZIP_MAGIC = b"PK\x03\x04"
UNCONFINED = "what reads PDF, Word and OpenDocument cannot be confined"
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
    """Implements `Documents`. The last four results are cached, because agents read long files part by part.

    `refusal`: why PDF, Word and OpenDocument are not read here, or "".
    """

    seconds: float = TIMEOUT_SECONDS
    worker: Path = WORKER
    refusal: Callable[[], str] = unconfined_root_fault
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PARALLEL), init=False, repr=False)
    _cache: LRUCache[str, DocumentText] = field(default_factory=lambda: LRUCache(MAX_CACHED), init=False, repr=False)

    async def text_of(self, name: str, data: bytes) -> DocumentText:
        kind = _kind(name, data)
        text = decode_unicode(data) if kind == "legacy" else None
        if text is not None:
            return DocumentText(text)
        if data.startswith(OLE_MAGIC):
            raise CommandError(f"{name} is in an old format of Microsoft Office; it can be read once saved as .docx.")
        if kind == "legacy" and b"\0" in data:
            raise _no_text_error(name, data)
        key = f"{kind} {hashlib.sha256(data).hexdigest()}"
        if found := self._cache.get(key):
            return found
        if kind != "legacy" and (fault := await asyncio.to_thread(self.refusal)):
            raise CommandError(f"{name} is not read: Signoff runs as root here, and {UNCONFINED}: {fault}")
        async with self._slots:
            reading = _read(name, data, await read_isolated(self.worker, kind, given=data, seconds=self.seconds))
        self._cache[key] = reading
        return reading


def _kind(name: str, data: bytes) -> str:
    beginning = data[:1024]
    if beginning.lstrip().startswith(b"%PDF-") or (name.lower().endswith(".pdf") and b"%PDF-" in beginning):
        return "pdf"
    return "archive" if data.startswith(ZIP_MAGIC) else "legacy"


def _read(name: str, data: bytes, answer: object) -> DocumentText:
    match answer:
        case {"text": str(text), "note": str(note)}:
            return DocumentText(text, note)
        case {"fault": "unknown"}:
            raise _no_text_error(name, data)
        case {"fault": str(fault)} if fault in FAULTS:
            raise CommandError(f"{name} {FAULTS[fault]}")
        case _:
            raise CommandError(f"{name} {FAULTS[BROKEN]}")


def _no_text_error(name: str, data: bytes) -> CommandError:
    return CommandError(f"{name} is not a text file ({len(data):,} bytes).")
