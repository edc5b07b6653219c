"""Lists files, and searches their names and lines (grep), within limits on files, bytes and hits."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.files import MAX_LISTED_FILES, FileEntry
from agent_core.ports.files import Files
from agent_core.text.decoding import decode_unicode
from agent_core.text.lines import counted

MAX_SHOWN_FILES = 400
MAX_HITS, MAX_HITS_PER_FILE = 100, 10
MAX_READ_FILES, MAX_READ_BYTES, MAX_FILE_BYTES = 2_000, 40_000_000, 2_000_000
MAX_LINE_CHARACTERS = 200
DIRECTORY_ALIASES = {"path": "directory", "folder": "directory", "dir": "directory"}
SEARCH_ALIASES = {**DIRECTORY_ALIASES, "pattern": "query", "text": "query", "search": "query", "keyword": "query"}


class DirectoryArguments(BaseModel):
    """One folder."""

    directory: str = Field(default="", max_length=400, description="folder, empty for all")


class FileSearchArguments(DirectoryArguments):
    """One folder, and what to look for in it."""

    query: str = Field(default="", max_length=200, description="text to find, empty to list all")


def list_files(entries: Sequence[FileEntry]) -> str:
    """One line for each file, and the number of those that are not listed."""
    lines = [f"{entry.path} ({counted(entry.size, 'byte')})" for entry in entries[:MAX_SHOWN_FILES]]
    more = len(entries) - len(lines)
    if more:
        least = "at least " if len(entries) >= MAX_LISTED_FILES else ""
        lines.append(f"({least}{more:,} more; name a folder, or find them by search_files.)")
    return "\n".join(lines) or "There are no files."


async def search_files(entries: Sequence[FileEntry], query: str, files: Files) -> str:
    """Files with the query in their name, and matching lines with their numbers; case is ignored."""
    wanted, hits, unread, taken = query.strip().casefold(), list[str](), 0, 0
    for number, entry in enumerate(entries):
        if len(hits) >= MAX_HITS:
            break
        if wanted in entry.path.casefold():
            hits.append(f"{entry.path} ({counted(entry.size, 'byte')})")
        text = await _text(entry, files) if number < MAX_READ_FILES and taken < MAX_READ_BYTES else None
        unread += text is None
        taken += len(text or "")
        hits += [f"{entry.path}:{line}" for line in _lines(text or "", wanted)]
    return _hits_text(hits[:MAX_HITS], query, unread)


async def _text(entry: FileEntry, files: Files) -> str | None:
    """The text of a file, or None if it is binary, too large or deleted since."""
    if entry.size > MAX_FILE_BYTES:
        return None
    try:
        return decode_unicode(await files.read(entry.path))
    except CommandError:
        return None


def _lines(text: str, wanted: str) -> Iterator[str]:
    if wanted not in text.casefold():
        return
    found = ((number, line) for number, line in enumerate(text.splitlines(), 1) if wanted in line.casefold())
    for count, (number, line) in enumerate(found):
        if count >= MAX_HITS_PER_FILE:
            yield " … (more lines of this file hold it)"
            return
        yield f"{number}: {_excerpt(line.strip(), wanted)}"


def _excerpt(line: str, wanted: str) -> str:
    """The line, or the part around the match."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    start = max(line.casefold().find(wanted) - MAX_LINE_CHARACTERS // 2, 0)
    return f"{'…' if start else ''}{line[start : start + MAX_LINE_CHARACTERS]}…"


def _hits_text(hits: Sequence[str], query: str, unread: int) -> str:
    lines = [*hits] or [f"No file holds {query.strip()!r}."]
    if len(hits) >= MAX_HITS:
        lines.append(f"(These are the first {MAX_HITS}; ask more narrowly for others.)")
    if unread:
        what = "1 file was" if unread == 1 else f"{unread:,} files were"
        lines.append(f"({what} not looked into but for the name: no plain text, too long, or too many.)")
    return "\n".join(lines)
