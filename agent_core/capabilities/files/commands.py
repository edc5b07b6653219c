"""Commands on files (write, append, read, delete, list, search) with previews, and whether a lost run took effect."""

from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel, Field

from agent_core.capabilities.files.file_search import (
    DIRECTORY_ALIASES,
    SEARCH_ALIASES,
    DirectoryArguments,
    FileSearchArguments,
    list_files,
    search_files,
)
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.model.files import content_fingerprint
from agent_core.ports.documents import Documents, DocumentText
from agent_core.text.decoding import decode_unicode, is_utf8
from agent_core.text.diffs import diff_of, line_count
from agent_core.text.lines import counted, unseparated
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, FoundOutcome, declare
from agent_core.toolset.trash import KEPT, MAX_FILE_BYTES, NOT_KEPT, move_to_trash, size_of

MAX_RESULT_CHARACTERS = 20_000
FILE_ALIASES = {"file": "filename", "path": "filename", "file_path": "filename"}
TEXT_ALIASES = {**FILE_ALIASES, "content": "text", "contents": "text"}


class Filename(BaseModel):
    """One file."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)


class FilenameAndText(Filename):
    """One file and text for it."""

    text: str = Field(description="text")


class ReadFrom(Filename):
    """One file, from some character on."""

    start: int = Field(default=0, ge=0, description="number of characters to skip")


@dataclass(frozen=True, slots=True)
class PlainTexts:
    """A Documents port that reads Unicode text only."""

    async def text_of(self, name: str, data: bytes) -> DocumentText:
        text = decode_unicode(data)
        if text is None:
            raise CommandError(f"{name} is not a text file ({counted(len(data), 'byte')}).")
        return DocumentText(text)


PLAIN_TEXTS = PlainTexts()


@dataclass(frozen=True, slots=True)
class FileCommands:
    """Commands on workspace files. `documents` extracts text from formats such as PDF."""

    documents: Documents = PLAIN_TEXTS

    async def write_to_file(self, given: FilenameAndText, context: CommandContext) -> str:
        """Replace the content of a file, or make the file."""
        if await context.files.fingerprint(given.filename):
            _require_change(given, await context.files.read(given.filename))
        await context.files.write(given.filename, given.text.encode(), expected=context.approved_basis)
        return _written_text(given)

    async def append_to_file(self, given: FilenameAndText, context: CommandContext) -> str:
        """Add text at the end of a file, or make the file."""
        if await context.files.fingerprint(given.filename):
            _require_new_end(given, await context.files.read(given.filename))
        await context.files.write(given.filename, given.text.encode(), append=True, expected=context.approved_basis)
        return _appended_text(given)

    async def read_file(self, given: ReadFrom, context: CommandContext) -> str:
        """Read text, PDF, Word or OpenDocument."""
        reading = await self._read(given, context)
        text, note = reading.text, f"\n({reading.note})" if reading.note else ""
        part = text[given.start : given.start + MAX_RESULT_CHARACTERS]
        rest = len(text) - given.start - len(part)
        more = f"\n({rest:,} more characters; read on with start={given.start + len(part)}.)" if rest > 0 else ""
        return f"{part}{note}{more}"

    async def delete_file(self, given: Filename, context: CommandContext) -> str:
        """Delete a file."""
        await move_to_trash(context.files, given.filename, expected=context.approved_basis)
        return _deleted_text(given)

    async def list_files(self, given: DirectoryArguments, context: CommandContext) -> str:
        """List files in a folder and below."""
        return list_files(await context.files.list_files(given.directory))

    async def search_files(self, given: FileSearchArguments, context: CommandContext) -> str:
        """Find files by a text in their names or lines."""
        entries = await context.files.list_files(given.directory)
        return await search_files(entries, given.query, context.files) if given.query.strip() else list_files(entries)

    async def preview_read(self, given: Filename, context: CommandContext) -> None:
        """None, but a file that cannot be read is rejected before people are asked."""
        await self._read(given, context)

    async def preview_write(self, given: FilenameAndText, context: CommandContext) -> Preview:
        """A unified diff; a write that changes nothing is rejected."""
        basis = await context.files.fingerprint(given.filename)
        old = await context.files.read(given.filename) if basis else b""
        if basis:
            _require_change(given, old)
        return _change(given.filename, old, await self._old_text(given.filename, old), given.text, basis)

    async def preview_append(self, given: FilenameAndText, context: CommandContext) -> Preview:
        """The added lines below the file's last ones; a text that the file already ends with is rejected."""
        basis = await context.files.fingerprint(given.filename)
        old = await context.files.read(given.filename) if basis else b""
        if basis:
            _require_new_end(given, old)
        text = old.decode()
        return _change(given.filename, old, DocumentText(text), text + given.text, basis)

    async def preview_delete(self, given: Filename, context: CommandContext) -> Preview:
        """The file's size and all of its lines as removed."""
        basis = await context.files.fingerprint(given.filename)
        size = await size_of(context.files, given.filename) if basis else 0
        old = await context.files.read(given.filename) if size <= MAX_RESULT_CHARACTERS else b""
        change = diff_of((await self._old_text(given.filename, old)).text, "")
        lost = f" · −{change.minus}" if change.minus else ""
        kept = KEPT if size <= MAX_FILE_BYTES else NOT_KEPT
        title = f"{unseparated(given.filename)} · deletes {counted(size or len(old), 'byte')}{lost} · {kept}"
        return Preview(title=title, body=change.body, kind="diff", target=given.filename, basis=basis)

    @property
    def commands(self) -> tuple[Command, ...]:
        read = partial(declare, risks=("read",), category="files")
        write = partial(declare, risks=("write",), category="files")
        adding, writing = ("append_file",), ("write_file", "create_file")
        overwrite, extend, delete = self.write_to_file, self.append_to_file, self.delete_file
        return (
            write(
                FilenameAndText,
                overwrite,
                self.preview_write,
                find_write,
                label="Write to file",
                synonyms=writing,
                aliases=TEXT_ALIASES,
            ),
            write(
                FilenameAndText,
                extend,
                self.preview_append,
                find_append,
                label="Append to file",
                synonyms=adding,
                aliases=TEXT_ALIASES,
            ),
            read(ReadFrom, self.read_file, self.preview_read, label="Read file", aliases=FILE_ALIASES),
            read(DirectoryArguments, self.list_files, preview_list, label="List files", aliases=DIRECTORY_ALIASES),
            read(FileSearchArguments, self.search_files, preview_list, label="Search files", aliases=SEARCH_ALIASES),
            declare(
                Filename,
                delete,
                self.preview_delete,
                find_delete,
                label="Delete file",
                risks=("delete",),
                category="files",
                aliases=FILE_ALIASES,
            ),
        )

    async def _read(self, given: Filename, context: CommandContext) -> DocumentText:
        return await self.documents.text_of(given.filename, await context.files.read(given.filename))

    async def _old_text(self, filename: str, data: bytes) -> DocumentText:
        """What a file held, as `read_file` reads it; no text if that cannot."""
        if is_utf8(data) and b"\0" not in data:
            return DocumentText(data.decode())
        try:
            reading = await self.documents.text_of(filename, data)
        except CommandError:
            return DocumentText("")
        return reading if reading.note else replace(reading, note="It was not in UTF-8.")


async def preview_list(given: DirectoryArguments, context: CommandContext) -> None:
    """None, but a path that is not a folder is rejected before people are asked."""
    await context.files.list_files(given.directory)


async def find_write(given: FilenameAndText, context: CommandContext) -> FoundOutcome:
    """It ran if the file holds the text, and did not if the file is as it was approved."""
    fingerprint = await context.files.fingerprint(given.filename)
    if fingerprint == context.approved_basis:
        return "not run"
    is_written = fingerprint and await context.files.read(given.filename) == given.text.encode()
    return CommandOutput(text=_written_text(given)) if is_written else "unknown"


async def find_append(given: FilenameAndText, context: CommandContext) -> FoundOutcome:
    """It ran if the file is what was approved with the text at its end, and did not if the file is as approved.

    In a folder that agents share, another one may have appended the same.
    """
    if context.shares_folder:
        return "unknown"
    fingerprint, added = await context.files.fingerprint(given.filename), given.text.encode()
    if fingerprint == context.approved_basis:
        return "not run"
    data = await context.files.read(given.filename) if fingerprint else b""
    before = data.removesuffix(added)
    was_there = context.approved_basis or ""
    is_same = content_fingerprint(before) == was_there if was_there else before == b""
    return CommandOutput(text=_appended_text(given)) if data != before and is_same else "unknown"


async def find_delete(given: Filename, context: CommandContext) -> FoundOutcome:
    """It ran if the file is gone, and did not if the file is as it was approved."""
    fingerprint = await context.files.fingerprint(given.filename)
    if fingerprint:
        return "not run" if fingerprint == context.approved_basis else "unknown"
    return CommandOutput(text=_deleted_text(given)) if context.approved_basis else "unknown"


def _written_text(given: FilenameAndText) -> str:
    return f"{given.filename} now holds {counted(len(given.text), 'character')}."


def _appended_text(given: FilenameAndText) -> str:
    verb = "was" if len(given.text) == 1 else "were"
    return f"{counted(len(given.text), 'character')} {verb} added to {given.filename}."


def _deleted_text(given: Filename) -> str:
    return f"{given.filename} is deleted."


def _change(filename: str, data: bytes, old: DocumentText, new: str, basis: str) -> Preview:
    change = diff_of(old.text, new)
    state = "" if basis else "new file · "
    if data and not old.text:
        state = f"{counted(len(data), 'byte')} that are no text · "
    lines = counted(line_count(new), "line")
    title = f"{unseparated(filename)} · {state}{lines} · +{change.plus} −{change.minus}"
    body = f"\\ Before: {old.note}\n{change.body}" if old.note and old.text else change.body
    return Preview(title=title, body=body, kind="diff", target=filename, basis=basis)


def _require_change(given: FilenameAndText, old: bytes) -> None:
    if given.text.encode() == old:
        raise CommandError(f"{given.filename} already holds exactly this; nothing would change.")


def _require_new_end(given: FilenameAndText, old: bytes) -> None:
    """Raise CommandError if the file already ends with the text: models repeat appends by mistake."""
    if not given.text:
        raise CommandError(f"There is nothing to append; {given.filename} would stay as it is.")
    if not is_utf8(old):
        raise CommandError(f"{given.filename} is not in UTF-8, so nothing can be appended; write it anew instead.")
    if given.text.strip() and old.endswith(given.text.encode()):
        raise CommandError(
            f"{given.filename} already ends with exactly this. If it is to stand there twice, append it together with "
            "what comes next, or write the whole file."
        )


FILE_COMMANDS: tuple[Command, ...] = FileCommands().commands
