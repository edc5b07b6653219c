"""Worker program that extracts the text of one untrusted PDF, Word, OpenDocument or legacy text; JSON on stdout.

    python -P document_worker.py pdf|archive|legacy < file

`worker_frame.py` runs it. It imports no Signoff code, and opens only files of its libraries. It prints
{"text": …, "note": …}, or {"fault": …} with `locked`, `textless`, `unknown`, `broken`, `hostile` or `large`. It exits
without output if the file is damaged, and is killed if it exceeds a limit.
"""

import io
import json
import logging
import re
import sys
import time
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic import Field

MAX_TEXT_CHARACTERS = 2_000_000
MAX_XML_BYTES = 100 * 2**20
MAX_PAGES = 1_000
MAX_PDF_SECONDS = 12.0  # then the text so far is returned
CHUNK_BYTES = 2**16
MAX_ACCENTED_SHARE = 0.4  # of the letters of a western text
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
MAX_FIELDS = 2_000
PASSWORD_FIELD = 1 << 13
COMMENTS = ("/FreeText", "/Text", "/Highlight", "/Underline", "/StrikeOut", "/Stamp", "/Caret")
MAX_DETECTION_BYTES = 200_000
MAIN_RELATIONSHIP = "/relationships/officeDocument"
MORE_PARTS = re.compile(r"(header|footer|footnotes|endnotes|comments)\d*\.xml")
UNREAD_PARTS = {
    "media/": "picture",
    "charts/chart": "chart",
    "diagrams/data": "diagram",
    "embeddings/": "embedded file",
}
HIDDEN = ("Fallback", "tracked-changes", "annotation", "moveFrom")  # duplicates, deleted text, comments
NOTES, MARKS = ("footnote", "endnote", "comment"), ("footnoteReference", "endnoteReference", "commentReference")
SYMBOL_CODE = re.compile(r"[0-9A-Fa-f]{1,4}")
UNKNOWN_SYMBOL = "\u25a1"
CELLS, ROWS, LINES = ("tc", "table-cell"), ("tr", "table-row"), ("p", "h")
BLANKS = {"noBreakHyphen": "\u2011", "tab": "\t", "s": " ", "br": "\n", "cr": "\n", "line-break": "\n"}
ENDS = {**dict.fromkeys(LINES, "\n"), **dict.fromkeys(CELLS, "\t"), **dict.fromkeys(ROWS, "\n")}


class Unreadable(Exception):
    """The file has no readable text; `fault` is one of the words in the module's docstring."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(fault)


class TextLimitReached(Exception):
    """Raised when MAX_TEXT_CHARACTERS were collected: the text so far is the result."""


class ExtractedText:
    """Collects text up to a limit."""

    def __init__(self, most: int = MAX_TEXT_CHARACTERS) -> None:
        self.parts: list[str] = []
        self.left = most

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
        self.cells = self.writing = self.hidden = self.unknown_symbols = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = refuse
        self.parser.EntityDeclHandler = refuse

    def start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        self.hidden += local in HIDDEN
        self.cells += local in CELLS
        self.writing += is_writing(self.kind, space, local)
        if not self.hidden and is_text(space):
            self.extracted.add(BLANKS.get(local, "") or self.sign(local, attributes))

    def sign(self, local: str, attributes: dict[str, str]) -> str:
        """What stands in the text for a symbol, or for a footnote or comment at both of its places."""
        given = {name.rpartition(" ")[2]: value for name, value in attributes.items()}
        if local in MARKS + NOTES and given.get("type", "normal") == "normal":
            return f"[{local[:4]} {given.get('id', '')[:9]}]"
        if local != "sym":
            return ""
        code = int(given.get("char", ""), 16) if SYMBOL_CODE.fullmatch(given.get("char", "")) else 0
        is_known = 0x20 < code < 0xD800
        self.unknown_symbols += not is_known
        return chr(code) if is_known else UNKNOWN_SYMBOL  # a sign of a font such as Wingdings

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
    if kind == "docx":
        return local == "t" and (is_text(space) or "/math" in space)
    return is_text(space) and local in ("p", "h")


class Archive:
    """The parts of a Word or OpenDocument file, which are unpacked piece by piece up to MAX_XML_BYTES together."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.names, self.size = archive, set(archive.namelist()), 0

    def feed(self, name: str, parser: expat.XMLParserType) -> None:
        """Parse a part."""
        if self.archive.getinfo(name).flag_bits & 1:
            raise Unreadable("locked")
        with self.archive.open(name) as member:
            while chunk := member.read(CHUNK_BYTES):
                self.size += len(chunk)
                if self.size > MAX_XML_BYTES:
                    raise Unreadable("large")
                parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def main_part(self) -> str:
        """The part with the text; raise Unreadable if there is none. Word names it in a part of its own."""
        named = [found.removeprefix("/") for found in self._targets()] if "_rels/.rels" in self.names else []
        words = [name for name in (*named, "word/document.xml") if name.startswith("word/")]
        found = next((name for name in (*words, "content.xml") if name in self.names), "")
        if not found:
            raise Unreadable("unknown")
        return found

    def _targets(self) -> list[str]:
        found: list[str] = []

        def start(_name: str, attributes: dict[str, str]) -> None:
            if attributes.get("Type", "").endswith(MAIN_RELATIONSHIP):
                found.append(attributes.get("Target", ""))

        parser = expat.ParserCreate()
        parser.StartElementHandler = start
        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        self.feed("_rels/.rels", parser)
        return found


def read_archive(data: bytes, extracted: ExtractedText) -> str:
    """Add the text of a Word or OpenDocument file, then that of its other parts; return the note."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        archive = Archive(opened)
        main = archive.main_part()
        kind, folder = ("odt", "") if main == "content.xml" else ("docx", "word/")
        others = [
            name for name in archive.names if name.startswith(folder) and is_other_part(kind, name[len(folder) :])
        ]
        symbols = 0
        for name in (main, *sorted(others)):
            section = ExtractedText(extracted.left)
            outline = XmlTextParser(section, kind)
            with suppress(TextLimitReached):
                archive.feed(name, outline.parser)
            symbols += outline.unknown_symbols
            title = "" if name == main else f"\n[{name[len(folder) :].removesuffix('.xml')}]\n"
            extracted.add(f"{title}{section.text}" if name == main or section.text.strip() else "")
    return archive_note(archive.names, symbols)


def is_other_part(kind: str, name: str) -> bool:
    """Whether a part has text besides the main one's: headers, footers, notes, comments."""
    return name == "styles.xml" if kind == "odt" else bool(MORE_PARTS.fullmatch(name))


def archive_note(names: set[str], symbols: int) -> str:
    """A sentence on what a document has that is no text, and one on symbols of fonts; "" if there is none."""
    counts = {what: sum(part in f"{name}/" for name in names) for part, what in UNREAD_PARTS.items()}
    unread = ", ".join(f"{number:,} {what}{'s' if number > 1 else ''}" for what, number in counts.items() if number)
    shown = f"{symbols:,} symbols of a font are shown as {UNKNOWN_SYMBOL}." if symbols else ""
    return " ".join(filter(None, (f"Not read: {unread}." if unread else "", shown)))


def refuse(*_declared: object) -> None:
    """Refuse what is declared."""
    raise Unreadable("hostile")


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
        text = "\n".join(filter(None, (text.strip(), *page_comments(reader.pages[number - 1]))))
        extracted.add(f"[page {number}]\n{text}\n\n" if text else "")
        if time.monotonic() - begun > MAX_PDF_SECONDS:
            break
    form, form_note = form_fields(reader)
    extracted.add(form)
    if unread and not any(extracted.parts):
        raise Unreadable("broken")
    return pdf_note(pages, number, unread) + form_note


def page_comments(page: "PageObject") -> list[str]:
    """The comments on a page, and the texts that were put on top of it."""
    found = []
    with suppress(*LIBRARY_ERRORS):
        for each in list(page.annotations or ())[:MAX_FIELDS]:
            comment = each.get_object()
            if comment.get("/Subtype") in COMMENTS and (said := str(comment.get("/Contents") or "").strip()):
                found.append(f"[comment] {said}")
    return found


def form_fields(reader: "PdfReader") -> tuple[str, str]:
    """The fields of a form with their values, and a sentence on a form that cannot be read."""
    try:
        fields = list((reader.get_fields() or {}).items())[:MAX_FIELDS]
        lines = [f"{name}: {field_value(field)}" for name, field in fields if field.get("/FT") not in (None, "/Sig")]
        note = " It has a form in XFA, whose values may be missing." if reader.xfa else ""
    except LIBRARY_ERRORS:
        return "", " The values of its form could not be read."
    return "\n".join(("[form]", *lines, "")) if lines else "", note


def field_value(field: "Field") -> str:
    """What stands in a field; a ticked box has the name of its state, such as Yes."""
    value = field.get("/V")
    is_secret = field.get("/FT") == "/Tx" and int(field.get("/Ff") or 0) & PASSWORD_FIELD
    values = value if isinstance(value, list) else [value]
    said = ", ".join(str(each).removeprefix("/") for each in values if each not in (None, "/Off"))
    return "(a password)" if is_secret and said else said or "(empty)"


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
    """Return "windows-1252" if under 40 % of the characters are not ASCII and most of these are letters, else ""."""
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
    sys.stdout.write(json.dumps(read(sys.argv[1], sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
