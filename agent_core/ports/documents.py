"""Reading untrusted files: text of PDF, Word, OpenDocument and legacy encodings; pictures for models."""

from dataclasses import dataclass
from typing import Protocol

from agent_core.model.messages import Image


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


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """A picture that a model can be sent. `note` is a phrase on the file, such as its size in pixels."""

    image: Image
    note: str = ""


class Pictures(Protocol):
    """Decodes untrusted pictures, with limits on time and memory."""

    async def picture_of(self, name: str, data: bytes) -> ReadPicture:
        """The pixels of a file as PNG or JPEG: at most 1,568 wide and high, and without metadata such as EXIF.

        Raise CommandError with a sentence for the model if the file is no picture, damaged or too large.
        """
