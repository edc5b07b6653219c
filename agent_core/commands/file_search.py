"""Lists of files, and files by what stands in them: bounded in files, bytes and hits, however many there are."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.files import MOST_LISTED, FileEntry
from agent_core.model.texts import unicode_text
from agent_core.ports.world import Files

MOST_SHOWN = 400
MOST_HITS, HITS_A_FILE = 100, 10
MOST_READ, MOST_BYTES, LONGEST_FILE = 2_000, 40_000_000, 2_000_000
LONGEST_LINE = 200
DIRECTORY = {"path": "directory", "folder": "directory", "dir": "directory"}
SEARCH = {**DIRECTORY, "pattern": "query", "text": "query", "search": "query", "keyword": "query"}


class DirectoryArguments(BaseModel):
    """One folder."""

    directory: str = Field(default="", max_length=400, description="folder, empty for all")


class FileSearchArguments(DirectoryArguments):
    """One folder, and what to look for in it."""

    query: str = Field(default="", max_length=200, description="text to find, empty to list all")


def list_files(entries: Sequence[FileEntry]) -> str:
    """The files, a line each, and how many more there are."""
    lines = [f"{entry.path} ({entry.size:,} bytes)" for entry in entries[:MOST_SHOWN]]
    more = len(entries) - len(lines)
    if more:
        least = "at least " if len(entries) >= MOST_LISTED else ""
        lines.append(f"({least}{more:,} more; name a folder, or find them by search_files.)")
    return "\n".join(lines) or "There are no files."


async def search_files(entries: Sequence[FileEntry], query: str, files: Files) -> str:
    """The files that hold the query in their name or in a line, with those lines and their numbers."""
    wanted, hits, unread, taken = query.strip().casefold(), list[str](), 0, 0
    for number, entry in enumerate(entries):
        if len(hits) >= MOST_HITS:
            break
        if wanted in entry.path.casefold():
            hits.append(f"{entry.path} ({entry.size:,} bytes)")
        text = await _text(entry, files) if number < MOST_READ and taken < MOST_BYTES else None
        unread += text is None
        taken += len(text or "")
        hits += [f"{entry.path}:{line}" for line in _lines(text or "", wanted)]
    return _told(hits[:MOST_HITS], query, unread)


async def _text(entry: FileEntry, files: Files) -> str | None:
    """What stands in a file that is text and short enough, and still there."""
    if entry.size > LONGEST_FILE:
        return None
    try:
        return unicode_text(await files.read(entry.path))
    except CommandError:
        return None


def _lines(text: str, wanted: str) -> Iterator[str]:
    if wanted not in text.casefold():
        return
    found = ((number, line) for number, line in enumerate(text.splitlines(), 1) if wanted in line.casefold())
    for count, (number, line) in enumerate(found):
        if count >= HITS_A_FILE:
            yield " … (more lines of this file hold it)"
            return
        yield f"{number}: {_around(line.strip(), wanted)}"


def _around(line: str, wanted: str) -> str:
    """A line, or as much of it around what was looked for as is shown."""
    if len(line) <= LONGEST_LINE:
        return line
    start = max(line.casefold().find(wanted) - LONGEST_LINE // 2, 0)
    return f"{'…' if start else ''}{line[start : start + LONGEST_LINE]}…"


def _told(hits: Sequence[str], query: str, unread: int) -> str:
    lines = [*hits] or [f"No file holds {query.strip()!r}."]
    if len(hits) >= MOST_HITS:
        lines.append(f"(These are the first {MOST_HITS}; ask more narrowly for others.)")
    if unread:
        what = "1 file was" if unread == 1 else f"{unread:,} files were"
        lines.append(f"({what} not looked into but for the name: no plain text, too long, or too many.)")
    return "\n".join(lines)
