"""Ports that read untrusted files: text of documents, pictures for models, code and Markdown as HTML for people."""

from dataclasses import dataclass
from typing import Protocol

from agent_core.model.model_calls import Image


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


class HtmlRenderer(Protocol):
    """Renders untrusted text files as HTML for a page, with limits on time and memory.

    The HTML has no script, no style, no event handler, and nothing that a browser would load from another site. Classes
    of its spans are Pygments' short names of tokens. Both methods return "" if the text takes too long.
    """

    async def render_code(self, name: str, text: str) -> str:
        """The text with a span for each token; "" if the file's name tells no known language."""

    async def render_markdown(self, text: str, *, folder: str, files: str) -> str:
        """CommonMark with tables. HTML in the text is shown as text; links lead to http, https and mailto only.

        `folder`: the folder of the file, "" for the workspace itself; pictures are named from there. `files`: the
        path on this site of the workspace's files, which ends with "/". A picture elsewhere becomes its address.
        """
