"""The preview of an agent's file: how a file is shown, by its name and content. Its size is bounded; the rest is told.

Rendering itself is left to the port `HtmlRenderer`, because a file is untrusted.
"""

import asyncio
import csv
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Literal, TypeAlias

from adapters.screens.cards import Card
from adapters.screens.text_fit import cut
from adapters.screens.ui_text import media_type
from adapters.screens.visible_text import Readable, readable
from agent_core.ports.documents import HtmlRenderer
from agent_core.text.decoding import decode_unicode
from agent_core.text.lines import counted

MAX_PREVIEW_CHARACTERS = 200_000
MAX_TABLE_CHARACTERS = 2_000_000
MAX_HTML_CHARACTERS = 2_000_000  # a browser has work with more
MAX_ROWS, MAX_COLUMNS, MAX_CELL_CHARACTERS = 200, 30, 300
MARKDOWN_ENDINGS, TABLE_ENDINGS = ("md", "markdown"), ("csv", "tsv")
SEPARATORS = ",;\t|"
TABLE_RULE = frozenset("|-: ")  # the line below the head of a table in Markdown
DOWNLOAD_HAS_ALL = "Download has the whole file."
PreviewKind: TypeAlias = Literal["markdown", "table", "code", "text", "picture", "sound", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The first rows and columns of a table, padded to one width. `head`: the first row of the file."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePreview:
    """What the page shows of a file. `notes`: sentences on what is left out, or why it is not shown otherwise.

    `html`: of Markdown and code, made by HtmlRenderer: safe to be part of a page. `text`, `html` and cells are
    `Readable` or markup already: to spell out invisible characters takes long, so it is done in a thread.
    """

    kind: PreviewKind
    text: str = ""
    html: str = ""
    table: Table | None = None
    notes: tuple[str, ...] = ()


def medium_of(path: str) -> Literal["picture", "sound", ""]:
    """`picture` or `sound` for a file that the page can show or play, else ""."""
    kind = media_type(path).partition("/")[0]
    return "picture" if kind == "image" else "sound" if kind == "audio" else ""


def has_source(path: str) -> bool:
    """Whether the file has another preview beside its source."""
    return _ending(path) in (*MARKDOWN_ENDINGS, *TABLE_ENDINGS)


def markdown_with_table(card: Card) -> str:
    """The whole new text of a Markdown file that a command writes, if it holds a table; else ""."""
    if card.preview is None or card.command != "write_to_file" or _ending(card.preview.target) not in MARKDOWN_ENDINGS:
        return ""
    text = next((argument.text for argument in card.arguments if argument.label == "text"), "")
    has_table = any("|" in line and "-" in line and set(line) <= TABLE_RULE for line in text.split("\n"))
    return text if has_table and len(text) <= MAX_PREVIEW_CHARACTERS else ""


async def preview_of(
    path: str, data: bytes, renderer: HtmlRenderer, *, files: str, as_source: bool = False
) -> FilePreview:
    """The preview of a file that is no picture and no sound. `files`: the address of the workspace's files."""
    text = decode_unicode(data)
    if text is None:
        return FilePreview(kind="none", notes=("This is not a text, so it has no preview.",))
    if not text:
        return FilePreview(kind="none", notes=("This file is empty.",))
    if _ending(path) in TABLE_ENDINGS and not as_source:
        return await asyncio.to_thread(_table_preview, text, "\t" if _ending(path) == "tsv" else "")
    first, notes = _first_part(text)
    shown = await asyncio.to_thread(_readable, first)
    folder, _, name = path.rpartition("/")
    if _ending(path) in MARKDOWN_ENDINGS and not as_source:
        html = await renderer.render_markdown(first, folder=folder, files=files)
        return await asyncio.to_thread(_rendered, "markdown", shown, notes, html)
    html = await renderer.render_code(name, shown) if "." in name else ""
    return await asyncio.to_thread(_rendered, "code", shown, notes, html)


def read_table(text: str, separator: str = "") -> tuple[Table, int, int]:
    """The table of a CSV text, and how many rows and columns of it are left out.

    `separator`: "" for the most frequent one of the first line. Raise csv.Error for a cell that is too long.
    """
    first = text[:MAX_PREVIEW_CHARACTERS].partition("\n")[0]
    delimiter = separator or max(SEPARATORS, key=first.count)
    filled = (row for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if row)
    rows = list(islice(filled, MAX_ROWS + 1))
    left = sum(1 for _ in filled)
    width = max((len(row) for row in rows), default=0)
    shown = min(width, MAX_COLUMNS)
    padded = [tuple(_cell(row[place]) if place < len(row) else "" for place in range(shown)) for row in rows]
    return Table(head=padded[0] if padded else (), rows=tuple(padded[1:])), left, width - shown


def _table_preview(text: str, separator: str) -> FilePreview:
    part = text if len(text) <= MAX_TABLE_CHARACTERS else text[:MAX_TABLE_CHARACTERS].rpartition("\n")[0]
    try:
        table, rows, columns = read_table(part, separator)
    except csv.Error:
        shown, notes = _first_part(text)
        return FilePreview(kind="text", text=_readable(shown), notes=("A cell is too long for a table.", *notes))
    more = "more than " if len(part) < len(text) else ""
    left = [
        *([f"{more}{counted(rows, 'row')}"] if rows or more else []),
        *([counted(columns, "column")] if columns else []),
    ]
    notes = (f"Left out here: {' and '.join(left)}. {DOWNLOAD_HAS_ALL}",) if left else ()
    return FilePreview(kind="table", table=table, notes=notes)


def _rendered(kind: Literal["markdown", "code"], text: str, notes: tuple[str, ...], html: str) -> FilePreview:
    """The rendered text; as plain text if there is none or too much, with the reason for Markdown."""
    if 0 < len(html) <= MAX_HTML_CHARACTERS:
        return FilePreview(kind=kind, html=readable(html), notes=notes)
    why = ("This takes too long to render, so it is shown as its source.",) if kind == "markdown" else ()
    return FilePreview(kind="text", text=text, notes=(*why, *notes))


def _first_part(text: str) -> tuple[str, tuple[str, ...]]:
    """The beginning of a long text, up to the end of a line, and a sentence on the rest."""
    if len(text) <= MAX_PREVIEW_CHARACTERS:
        return text, ()
    part = text[:MAX_PREVIEW_CHARACTERS]
    part = part.rpartition("\n")[0] or part
    return part, (f"The first {len(part):,} of {len(text):,} characters. {DOWNLOAD_HAS_ALL}",)


def _cell(text: str) -> Readable:
    return Readable(cut(readable(text[: MAX_CELL_CHARACTERS + 1]), MAX_CELL_CHARACTERS))


def _readable(text: str) -> Readable:
    return Readable(readable(text))


def _ending(path: str) -> str:
    return path.rpartition(".")[2].casefold() if "." in path else ""
