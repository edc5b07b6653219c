"""Worker program that extracts the text of one untrusted file: bytes on stdin, JSON on stdout.

    python -P document_worker.py pdf|archive|legacy < file

It sets its own resource limits first, imports no Signoff code, and opens only files of its libraries. It prints
{"text": …, "note": …}, or {"fault": …} with `locked`, `textless`, `unknown`, `broken`, `hostile` or `large`. It exits
without output if the file is damaged, and is killed if it exceeds a limit.
"""

import io
import json
import logging
import re
import resource
import sys
import time
import zipfile
from contextlib import suppress
from xml.parsers import expat

MAX_MEMORY_BYTES = 768 * 2**20
MAX_CPU_SECONDS = 20  # the parent also has a timeout
MAX_TEXT_CHARACTERS = 2_000_000
MAX_XML_BYTES = 100 * 2**20
MAX_PAGES = 1_000
MAX_PDF_SECONDS = 12.0  # then the text so far is returned
CHUNK_BYTES = 2**16
MAX_ACCENTED_SHARE = 0.3  # of the letters of a western text
MAX_RUNS_SHARE = 0.25  # of its letters beyond ASCII, in runs of three and more
MAX_FAULTS_SHARE = 0.5  # of what is not UTF-8, to the characters beyond ASCII that are
LAST_LATIN = "\u024f"
ACCENTED_RUN = re.compile(rf"[\x80-{LAST_LATIN}]{{3,}}")
MAX_NAMED_ENCODINGS = 3
ENCODINGS = [  # those of https://encoding.spec.whatwg.org that were in wide use
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp866", "cp874"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "koi8_r", "koi8_u"),
    *("gb18030", "big5", "cp932", "euc_jp", "iso2022_jp", "cp949"),
]
EXIT_OUT_OF_MEMORY = 3
LIBRARY_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
MAX_DETECTION_BYTES = 200_000
PARTS = {"word/document.xml": "docx", "content.xml": "odt"}
HIDDEN = ("Fallback", "tracked-changes", "annotation")  # duplicates, deleted text, comments
CELLS, ROWS, LINES = ("tc", "table-cell"), ("tr", "table-row"), ("p", "h")
BLANKS = {"tab": "\t", "s": " ", "br": "\n", "cr": "\n", "line-break": "\n"}
ENDS = {**dict.fromkeys(LINES, "\n"), **dict.fromkeys(CELLS, "\t"), **dict.fromkeys(ROWS, "\n")}


class Unreadable(Exception):
    """The file has no readable text; `fault` is one of the words in the module's docstring."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(fault)


class TextLimitReached(Exception):
    """Raised when MAX_TEXT_CHARACTERS were collected: the text so far is the result."""


def set_limits() -> None:
    """Set limits on memory, CPU time, files and file size; unsupported ones are skipped."""
    for kind, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


class ExtractedText:
    """Collects text up to a limit."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left = MAX_TEXT_CHARACTERS

    def add(self, text: str) -> None:
        """Append a piece; raise TextLimitReached at the limit."""
        self.parts.append(text[: self.left])
        self.left -= len(text)
        if self.left <= 0:
            raise TextLimitReached

    @property
    def text(self) -> str:
        """The text as valid Unicode, without NUL."""
        joined = "".join(self.parts).replace("\0", "")
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class XmlTextParser:
    """Extracts text, lines and table cells from XML. Entities and DTDs are refused (XML bombs)."""

    def __init__(self, extracted: ExtractedText, kind: str) -> None:
        self.extracted, self.kind = extracted, kind
        self.cells = self.writing = self.hidden = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    def refuse(self, *_declared: object) -> None:
        raise Unreadable("hostile")

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        self.hidden += local in HIDDEN
        self.cells += local in CELLS
        self.writing += is_writing(self.kind, space, local)
        if not self.hidden and local in BLANKS and is_text(space):
            self.extracted.add(BLANKS[local])

    def end(self, name: str) -> None:
        space, _, local = name.rpartition(" ")
        if not self.hidden and local in ENDS and (is_text(space) or local in CELLS + ROWS):
            self.extracted.add(" " if self.cells and local in LINES else ENDS[local])
        self.hidden -= local in HIDDEN
        self.cells -= local in CELLS
        self.writing -= is_writing(self.kind, space, local)

    def text(self, text: str) -> None:
        """Handle character data: add it if it is inside a text element and not hidden."""
        if self.writing and not self.hidden:
            self.extracted.add(text)


def is_text(space: str) -> bool:
    """Whether the XML namespace belongs to the text of documents, and not for example to drawings."""
    return "wordprocessingml" in space or "opendocument:xmlns:text" in space


def is_writing(kind: str, space: str, local: str) -> bool:
    """Whether the characters in this element are text of the document."""
    return is_text(space) and local in (("t",) if kind == "docx" else ("p", "h"))


def read_archive(data: bytes, extracted: ExtractedText) -> str:
    """Add the text of a Word or OpenDocument file; return "". Only one ZIP member is decompressed, piece by piece."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        there = set(archive.namelist())
        name = next((part for part in PARTS if part in there), None)
        if name is None:
            raise Unreadable("unknown")
        if archive.getinfo(name).flag_bits & 1:
            raise Unreadable("locked")
        outline, size = XmlTextParser(extracted, PARTS[name]), 0
        with archive.open(name) as member:
            while chunk := member.read(CHUNK_BYTES):
                size += len(chunk)
                if size > MAX_XML_BYTES:
                    raise Unreadable("large")
                outline.parser.Parse(chunk, False)
        outline.parser.Parse(b"", True)
    return ""


def read_pdf(data: bytes, extracted: ExtractedText) -> str:
    """Add the text of a PDF, page by page, up to 1,000 pages or 12 s; return the note."""
    from pypdf import PdfReader  # imported late: only PDF needs it
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # pypdf logs every malformed object
    begun = time.monotonic()
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("locked")
    pages, unread, number = len(reader.pages), 0, 0
    for number in range(1, min(pages, MAX_PAGES) + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except (PyPdfError, *LIBRARY_ERRORS):
            unread += 1
            continue
        extracted.add(f"[page {number}]\n{text.strip()}\n\n" if text.strip() else "")
        if time.monotonic() - begun > MAX_PDF_SECONDS:
            break
    if unread and not any(extracted.parts):
        raise Unreadable("broken")
    return pdf_note(pages, number, unread)


def pdf_note(pages: int, seen: int, unread: int) -> str:
    """A sentence on how many pages were read."""
    whole = "It is a PDF of 1 page." if pages == 1 else f"It is a PDF of {pages:,} pages."
    rest = f" Only the first {seen:,} were read, as it takes too long." if seen < pages else ""
    return f"{whole}{rest}" + (f" {unread:,} of them could not be read." if unread else "")


def read_legacy(data: bytes, extracted: ExtractedText) -> str:
    """Add text in UTF-8 with faults, in windows-1252 or in the most likely encoding; return the note."""
    text, wrong, right = utf8_with_faults(data)
    if 0 < wrong <= MAX_FAULTS_SHARE * right:
        extracted.add(text)
        return f"It is in UTF-8, except for what is shown as \ufffd ({wrong:,} times): to write it back loses that."
    beginning = data[:MAX_DETECTION_BYTES]
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in beginning) or b"\0" in data:
        raise Unreadable("unknown")
    encoding, *others = [western] if (western := western_encoding(beginning)) else detect_encodings(beginning)
    extracted.add(data.decode(encoding, "replace"))
    may_be = f", and may be {' or '.join(others)}" if others else ", which may be wrong"
    return f"It is not in UTF-8; it was read as {encoding}{may_be}."


def utf8_with_faults(data: bytes) -> tuple[str, int, int]:
    """The text as UTF-8, how much of it is not, and how many characters beyond ASCII are."""
    text = data.decode("utf-8", "replace")
    beyond, shown = sum(letter > "\x7f" for letter in text), text.count("\ufffd")
    return text, shown - data.count("\ufffd".encode()), beyond - shown


def western_encoding(data: bytes) -> str:
    """Return "windows-1252" if under 30 % of the characters are not ASCII and most of these are letters, else ""."""
    letters = [byte for byte in data if byte not in b" \t\r\n"]
    high = [byte for byte in letters if byte > 127]
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    fitting = sum(letter.isalpha() or letter in "’‘“”–—…€°§«»©®·•" for letter in bytes(high).decode("cp1252"))
    is_likely = len(high) < MAX_ACCENTED_SHARE * len(letters) and fitting >= 0.8 * len(high)
    return "windows-1252" if is_likely and not is_garbled(text) else ""


def is_garbled(text: str) -> bool:
    """Whether much of what is Latin and not ASCII comes in runs, as in no language: it is of another script."""
    accented = sum("\x7f" < letter <= LAST_LATIN for letter in text)
    return sum(map(len, ACCENTED_RUN.findall(text))) > MAX_RUNS_SHARE * accented


def detect_encodings(data: bytes) -> list[str]:
    """The encoding that charset_normalizer finds most likely, and up to two that are as likely.

    Raise Unreadable if it finds none.
    """
    from charset_normalizer import from_bytes

    found = [match for match in from_bytes(data, cp_isolation=ENCODINGS) if not is_garbled(str(match))]
    if not found:
        raise Unreadable("unknown")
    best = (found[0].chaos, found[0].coherence)
    return [match.encoding for match in found if (match.chaos, match.coherence) == best][:MAX_NAMED_ENCODINGS]


def read(kind: str, data: bytes) -> dict[str, str]:
    """The worker's answer: text and note, or fault. Errors of the libraries on a damaged file end the program."""
    extracted = ExtractedText()
    try:
        note = {"pdf": read_pdf, "archive": read_archive, "legacy": read_legacy}[kind](data, extracted)
    except TextLimitReached:
        note = f"Only its first {MAX_TEXT_CHARACTERS:,} characters were read."
    except Unreadable as refused:
        return {"fault": refused.fault}
    return {"text": extracted.text, "note": note} if extracted.text.strip() else {"fault": "textless"}


def main() -> None:
    set_limits()
    try:
        answer = read(sys.argv[1], sys.stdin.buffer.read())
    except MemoryError:
        sys.exit(EXIT_OUT_OF_MEMORY)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
