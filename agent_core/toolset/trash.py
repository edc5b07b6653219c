"""The trash of a workspace: moves deleted files there, lists them, and empties it of old ones and when it is full.

A file in the trash is named by its content and its path, so that two files of one path are both kept.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from operator import attrgetter
from posixpath import normpath

from agent_core.errors import CommandError
from agent_core.model.files import TRASH_DAYS, TRASH_DIGITS, DeletedFile, FileEntry, content_fingerprint
from agent_core.ports.files import Files

KEPT_FOR = timedelta(days=TRASH_DAYS)
MAX_FILE_BYTES = 20 * 2**20  # a larger file is deleted for good
MAX_TRASH_BYTES, MAX_TRASH_FILES = 150 * 2**20, 1_000  # the oldest files make room
MAX_PATH_BYTES = 200  # of a path in the name of a file, which may have 255 bytes
KEPT, NOT_KEPT = f"kept in the trash for up to {TRASH_DAYS} days", "too large for the trash, so it is deleted for good"


async def move_to_trash(files: Files, path: str, *, expected: str | None) -> bool:
    """Delete a file and keep it in the trash; return False for a file that is too large to be kept.

    Raise CommandError as `Files.delete` does.
    """
    size = await size_of(files, path)
    if size > MAX_FILE_BYTES:
        await files.delete(path, expected=expected)
        return False
    data = await files.read(path)
    key, trash = _key(normpath(path), data), files.trash
    await _make_room(trash, len(data))
    await trash.write(key, data)
    try:
        await files.delete(path, expected=expected)
    except CommandError:
        with suppress(CommandError):
            await trash.delete(key)
        raise
    return True


async def list_trash(files: Files) -> tuple[DeletedFile, ...]:
    """The deleted files, the newest first."""
    found = map(DeletedFile.of, await files.trash.list_files())
    return tuple(sorted(found, key=attrgetter("deleted_at"), reverse=True))


async def empty_trash(trash: Files, before: datetime) -> int:
    """Delete what came into the trash before this time; return how many files."""
    old = [each for each in await trash.list_files() if each.changed_at < before]
    for each in old:
        await trash.delete(each.path)
    return len(old)


async def size_of(files: Files, path: str) -> int:
    """The size of a file; 0 if there is none."""
    name, folder = normpath(path), path.rpartition("/")[0]
    with suppress(CommandError):
        return next((each.size for each in await files.list_files(folder) if each.path == name), 0)
    return 0


async def _make_room(trash: Files, size: int) -> None:
    kept: Sequence[FileEntry] = sorted(await trash.list_files(), key=attrgetter("changed_at"))
    while kept and (len(kept) >= MAX_TRASH_FILES or size + sum(each.size for each in kept) > MAX_TRASH_BYTES):
        await trash.delete(kept[0].path)
        kept = kept[1:]


def _key(path: str, data: bytes) -> str:
    """The file's name in the trash; of a path that is too long, the end of the file's own name."""
    if len(path.encode()) > MAX_PATH_BYTES:
        path = path.rpartition("/")[2].encode()[-MAX_PATH_BYTES:].decode(errors="ignore")
    return f"{content_fingerprint(data)[:TRASH_DIGITS]} {path}"
