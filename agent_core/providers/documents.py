"""Reads PDF, Word and OpenDocument files and texts in old encodings, each in a short-lived process of its own.

A process and no thread: a file made to keep its reader busy, or to fill the memory, ends that process and nothing else.
"""

import asyncio
import hashlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.errors import CommandError
from agent_core.model.texts import unicode_text
from agent_core.ports.documents import Reading
from agent_core.providers.model_process import passed_on

WORKER = Path(__file__).with_name("document_worker.py")
PATIENCE = 30.0
AT_ONCE = 2
MOST_ANSWER = 16 * 2**20  # JSON spells a letter with six, or twelve
MOST_KEPT = 4
OLD_WORD = b"\xd0\xcf\x11\xe0"
ARCHIVE = b"PK\x03\x04"
FAULTS = {
    "locked": "is locked with a password, so it cannot be read.",
    "textless": "holds no text. If it is a PDF, its pages are probably scanned pictures.",
    "hostile": "declares entities as no real document does, so it is left alone.",
    "large": "unpacks to more than can be read.",
    "slow": "takes too long or too much memory to read.",
    "broken": "is damaged, so it cannot be read.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocuments:
    """Text as it is; everything else by the worker. The last few readings are kept, as files are paged through."""

    seconds: float = PATIENCE
    worker: Path = WORKER
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), init=False, repr=False)
    _kept: dict[str, Reading] = field(default_factory=dict, init=False, repr=False)

    async def text_of(self, name: str, data: bytes) -> Reading:
        """The text; what is neither text nor a document is told as such."""
        kind = _kind(name, data)
        text = unicode_text(data) if kind == "legacy" else None
        if text is not None:
            return Reading(text)
        if data.startswith(OLD_WORD):
            raise CommandError(f"{name} is in an old format of Microsoft Office; it can be read once saved as .docx.")
        if kind == "legacy" and b"\0" in data:
            raise _no_text(name, data)
        key = f"{kind} {hashlib.sha256(data).hexdigest()}"
        if key not in self._kept:
            async with self._turns:
                reading = _read(name, data, await self._asked(kind, data))
            self._keep(key, reading)
        return self._kept[key]

    def _keep(self, key: str, reading: Reading) -> None:
        self._kept[key] = reading
        for oldest in list(self._kept)[:-MOST_KEPT]:
            del self._kept[oldest]

    async def _asked(self, kind: str, data: bytes) -> object:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(self.worker), kind),
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=passed_on(os.environ), start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self.seconds):
                said = await _exchanged(process, data)
                match await process.wait():
                    case 0:
                        return json.loads(said)
                    case 1:
                        return {"fault": "broken"}
                    case _:
                        return {"fault": "slow"}
        except (TimeoutError, ValueError):
            return {"fault": "slow"}
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # what is left in its pipe would keep it from ending


async def _exchanged(process: Process, data: bytes) -> bytes:
    """What it printed; raise ValueError where that is more than it may be."""
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(ConnectionError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    said = bytearray()
    while len(said) <= MOST_ANSWER and (chunk := await process.stdout.read(2**16)):
        said += chunk
    if len(said) > MOST_ANSWER:
        raise ValueError
    return bytes(said)


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
            raise CommandError(f"{name} {FAULTS['broken']}")


def _no_text(name: str, data: bytes) -> CommandError:
    return CommandError(f"{name} is not a text file ({len(data):,} bytes).")
