"""A program of its own that reads one hostile file as text: bytes on standard input, JSON on standard output.

    python -P document_worker.py pdf|archive|legacy < file

It limits itself before it reads anything, knows nothing of Signoff, and opens no file but those of its own libraries.
It prints {"text": …, "note": …}, or {"fault": …} with one of the words `locked`, `textless`, `unknown`, `broken`,
`hostile`, `large`. It may end without a word where the file is broken, and is ended where it takes too much.
"""

import io
import json
import logging
import resource
import sys
import time
import zipfile
from contextlib import suppress
from xml.parsers import expat

MOST_MEMORY = 768 * 2**20
MOST_CPU = 20  # seconds; the parent's clock ends it otherwise
MOST_TEXT = 2_000_000
MOST_XML = 100 * 2**20
MOST_PAGES = 1_000
MOST_SECONDS = 12.0  # then what is there is given
CHUNK = 2**16
SHARE_OF_LETTERS = 0.3  # accented letters of a western text are fewer
TOO_MUCH = 3  # as an exit code
MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
MOST_LOOKED_AT = 200_000
PARTS = {"word/document.xml": "docx", "content.xml": "odt"}
HIDDEN = ("Fallback", "tracked-changes", "annotation")  # said in another form beside it, deleted, or beside the text
CELLS, ROWS, LINES = ("tc", "table-cell"), ("tr", "table-row"), ("p", "h")
BLANKS = {"tab": "\t", "s": " ", "br": "\n", "cr": "\n", "line-break": "\n"}
ENDS = {**dict.fromkeys(LINES, "\n"), **dict.fromkeys(CELLS, "\t"), **dict.fromkeys(ROWS, "\n")}


class Unreadable(Exception):
    """Why there is no text, in one of the words that the parent knows."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(fault)


class Enough(Exception):
    """As much text as is taken was read."""


def limit() -> None:
    """Bound memory, time, files and what can be written; what a system does not know is left out."""
    for kind, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_CPU, MOST_CPU),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


class ExtractedText:
    """Text as it is found, up to so much."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left = MOST_TEXT

    def add(self, text: str) -> None:
        """Keep a piece; raise Enough when there is room for no more."""
        self.parts.append(text[: self.left])
        self.left -= len(text)
        if self.left <= 0:
            raise Enough

    @property
    def text(self) -> str:
        """All of it, as Unicode that can be written."""
        joined = "".join(self.parts).replace("\0", "")
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Outline:
    """Words, lines and cells of a document's XML. Entities and document types are refused: documents have none."""

    def __init__(self, told: ExtractedText, kind: str) -> None:
        self.told, self.kind = told, kind
        self.cells = self.writing = self.hidden = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.words
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    def refuse(self, *_declared: object) -> None:
        """Stop at the first declaration."""
        raise Unreadable("hostile")

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        """A word, a blank, a cell begins."""
        space, _, local = name.rpartition(" ")
        self.hidden += local in HIDDEN
        self.cells += local in CELLS
        self.writing += is_writing(self.kind, space, local)
        if not self.hidden and local in BLANKS and is_text(space):
            self.told.add(BLANKS[local])

    def end(self, name: str) -> None:
        """A word, a line, a cell ends."""
        space, _, local = name.rpartition(" ")
        if not self.hidden and local in ENDS and (is_text(space) or local in CELLS + ROWS):
            self.told.add(" " if self.cells and local in LINES else ENDS[local])
        self.hidden -= local in HIDDEN
        self.cells -= local in CELLS
        self.writing -= is_writing(self.kind, space, local)

    def words(self, text: str) -> None:
        """What stands between tags counts where text stands."""
        if self.writing and not self.hidden:
            self.told.add(text)


def is_text(space: str) -> bool:
    """Whether the namespace is that of a document's text, and not of its drawings."""
    return "wordprocessingml" in space or "opendocument:xmlns:text" in space


def is_writing(kind: str, space: str, local: str) -> bool:
    """Whether the letters in this element are the document's own."""
    return is_text(space) and local in (("t",) if kind == "docx" else ("p", "h"))


def of_archive(data: bytes, told: ExtractedText) -> str:
    """The text of a Word or an OpenDocument file. One member is read, into memory; nothing is unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        there = set(archive.namelist())
        name = next((part for part in PARTS if part in there), None)
        if name is None:
            raise Unreadable("unknown")
        if archive.getinfo(name).flag_bits & 1:
            raise Unreadable("locked")
        outline, read = Outline(told, PARTS[name]), 0
        with archive.open(name) as member:
            while chunk := member.read(CHUNK):
                read += len(chunk)
                if read > MOST_XML:
                    raise Unreadable("large")
                outline.parser.Parse(chunk, False)
        outline.parser.Parse(b"", True)
    return ""


def of_pdf(data: bytes, told: ExtractedText) -> str:
    """The text of a PDF, page by page, for as long as there is time."""
    from pypdf import PdfReader  # only here: the other kinds need no library
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it complains of every oddity, page by page
    begun = time.monotonic()
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("locked")
    pages, unread, number = len(reader.pages), 0, 0
    for number in range(1, min(pages, MOST_PAGES) + 1):
        try:
            words = reader.pages[number - 1].extract_text()
        except (PyPdfError, *MISTAKES):
            unread += 1
            continue
        told.add(f"[page {number}]\n{words.strip()}\n\n" if words.strip() else "")
        if time.monotonic() - begun > MOST_SECONDS:
            break
    if unread and not any(told.parts):
        raise Unreadable("broken")
    return pdf_note(pages, number, unread)


def pdf_note(pages: int, seen: int, unread: int) -> str:
    """What is said of how it was read."""
    whole = "It is a PDF of 1 page." if pages == 1 else f"It is a PDF of {pages:,} pages."
    rest = f" Only the first {seen:,} were read, as it takes too long." if seen < pages else ""
    return f"{whole}{rest}" + (f" {unread:,} of them could not be read." if unread else "")


def of_legacy(data: bytes, told: ExtractedText) -> str:
    """The text of bytes that are no Unicode: the usual encoding of the West, else the likeliest one."""
    beginning = data[:MOST_LOOKED_AT]
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in beginning) or b"\0" in data:
        raise Unreadable("unknown")
    encoding = western(beginning) or likeliest(beginning)
    told.add(data.decode(encoding, "replace"))
    return f"It is not in UTF-8; it was read as {encoding}, which may be wrong."


def western(data: bytes) -> str:
    """The name of the West's encoding where few letters are accented and all of them are letters, else ""."""
    letters = [byte for byte in data if byte not in b" \t\r\n"]
    high = [byte for byte in letters if byte > 127]
    try:
        text = bytes(high).decode("cp1252")
    except UnicodeDecodeError:
        return ""
    fitting = sum(letter.isalpha() or letter in "’‘“”–—…€°§«»©®·•" for letter in text)
    return "windows-1252" if len(high) < SHARE_OF_LETTERS * len(letters) and fitting >= 0.8 * len(high) else ""


def likeliest(data: bytes) -> str:
    """The encoding that a library takes it for; raise Refused where it takes it for none."""
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise Unreadable("unknown")
    return best.encoding


def read(kind: str, data: bytes) -> dict[str, str]:
    """The text and a note, or the fault; what a broken file raises goes through, and ends the program."""
    told = ExtractedText()
    try:
        note = {"pdf": of_pdf, "archive": of_archive, "legacy": of_legacy}[kind](data, told)
    except Enough:
        note = f"Only its first {MOST_TEXT:,} characters were read."
    except Unreadable as refused:
        return {"fault": refused.fault}
    return {"text": told.text, "note": note} if told.text.strip() else {"fault": "textless"}


def main() -> None:
    """Read what is given, once."""
    limit()
    try:
        answer = read(sys.argv[1], sys.stdin.buffer.read())
    except MemoryError:
        sys.exit(TOO_MUCH)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
