"""Text extraction from documents: PDF, Word, OpenDocument and legacy encodings."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document. `note` is a sentence on how it was read or what was left out, or ""."""

    text: str
    note: str = ""


class Documents(Protocol):
    """Extracts text from untrusted files, with limits on time and memory."""

    async def text_of(self, name: str, data: bytes) -> DocumentText:
        """The text of a file. `name` is used for its extension and in error messages.

        Raise CommandError with a sentence for the model if the file has no text, is encrypted, damaged or too large.
        """
