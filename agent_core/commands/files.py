"""Commands on the files of the agent's own workspace."""

import difflib

from pydantic import BaseModel, Field

from agent_core.commands.registry import Command, CommandContext, declared
from agent_core.errors import CommandError
from agent_core.model.command import Preview

MOST_TEXT = 20_000


class Filename(BaseModel):
    """One file."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)


class FilenameAndText(Filename):
    """One file and text for it."""

    text: str = Field(description="text")


class ReadFrom(Filename):
    """One file, from some character on."""

    start: int = Field(default=0, ge=0, description="number of characters to skip")


class Directory(BaseModel):
    """One folder."""

    directory: str = Field(default="", max_length=400, description="folder inside the workspace, empty for all of it")


async def write_to_file(given: FilenameAndText, context: CommandContext) -> str:
    """Replace the content of a file, or make the file."""
    await context.files.write(given.filename, given.text.encode())
    return f"{given.filename} now holds {len(given.text):,} characters."


async def append_to_file(given: FilenameAndText, context: CommandContext) -> str:
    """Add text at the end of a file, or make the file."""
    await context.files.write(given.filename, given.text.encode(), append=True)
    return f"{len(given.text):,} characters were added to {given.filename}."


async def read_file(given: ReadFrom, context: CommandContext) -> str:
    """Read a text file."""
    text = _decoded(given.filename, await context.files.read(given.filename))
    part = text[given.start : given.start + MOST_TEXT]
    rest = len(text) - given.start - len(part)
    return f"{part}\n({rest:,} more characters; read on with start={given.start + len(part)}.)" if rest > 0 else part


async def delete_file(given: Filename, context: CommandContext) -> str:
    """Delete a file."""
    await context.files.delete(given.filename)
    return f"{given.filename} is deleted."


async def list_files(given: Directory, context: CommandContext) -> str:
    """List the files in a folder and below."""
    entries = await context.files.listing(given.directory)
    return "\n".join(f"{entry.path} ({entry.size:,} bytes)" for entry in entries) or "There are no files."


async def preview_write(given: FilenameAndText, context: CommandContext) -> Preview:
    """The change as a unified diff; a write that would change nothing is refused."""
    return await _preview_change(given.filename, None, given.text, context)


async def preview_append(given: FilenameAndText, context: CommandContext) -> Preview:
    """The lines to be added, under the file's last ones."""
    return await _preview_change(given.filename, given.text, "", context)


async def preview_delete(given: Filename, context: CommandContext) -> Preview:
    """What would be lost."""
    entries = await context.files.listing()
    size = next((entry.size for entry in entries if entry.path == given.filename), 0)
    old = await context.files.read(given.filename) if size <= MOST_TEXT else b""
    title = f"{given.filename} · {size:,} bytes will be deleted"
    basis = await context.files.fingerprint(given.filename)
    return Preview(title=title, body=_text_or_nothing(old), target=given.filename, basis=basis)


async def preview_read(given: Filename, context: CommandContext) -> None:
    """Nothing to show, but a file that cannot be read is told before anybody is asked."""
    _decoded(given.filename, await context.files.read(given.filename))


async def preview_list(given: Directory, context: CommandContext) -> None:
    """Nothing to show, but a folder that is not one is told before anybody is asked."""
    await context.files.listing(given.directory)


async def _preview_change(filename: str, added: str | None, text: str, context: CommandContext) -> Preview:
    exists = await context.files.fingerprint(filename)
    data = await context.files.read(filename) if exists else b""
    old = _text_or_nothing(data)
    new = text if added is None else old + added
    if exists and new.encode() == data:
        raise CommandError(f"{filename} already holds exactly this; nothing would change.")
    diff = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
    plus, minus = (sum(line.startswith(sign) for line in diff) for sign in "+-")
    state = "new file · " if not exists else f"{len(data):,} bytes that are no text · " if data and not old else ""
    lines = len(new.splitlines())
    title = f"{filename} · {state}{lines} {'line' if lines == 1 else 'lines'} · +{plus} −{minus}"
    return Preview(title=title, body="\n".join(diff), kind="diff", target=filename, basis=exists)


def _decoded(filename: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CommandError(f"{filename} is not a text file ({len(data):,} bytes).") from None


def _text_or_nothing(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


FILE = {"file": "filename", "path": "filename", "file_path": "filename"}
TEXT = {**FILE, "content": "text", "contents": "text"}
FILE_COMMANDS: tuple[Command, ...] = (
    declared(
        FilenameAndText,
        write_to_file,
        preview_write,
        label="Write to file",
        risks=("write",),
        category="files",
        synonyms=("write_file", "create_file"),
        aliases=TEXT,
    ),
    declared(
        FilenameAndText,
        append_to_file,
        preview_append,
        label="Append to file",
        risks=("write",),
        category="files",
        synonyms=("append_file",),
        aliases=TEXT,
    ),
    declared(ReadFrom, read_file, preview_read, label="Read file", risks=("read",), category="files", aliases=FILE),
    declared(
        Directory,
        list_files,
        preview_list,
        label="List files",
        risks=("read",),
        category="files",
        synonyms=("search_files",),
        aliases={"path": "directory", "folder": "directory", "dir": "directory"},
    ),
    declared(
        Filename, delete_file, preview_delete, label="Delete file", risks=("write",), category="files", aliases=FILE
    ),
)
