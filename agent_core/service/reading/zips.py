"""A zip of files that is made while it is read, with names that every system can unpack.

Windows refuses some characters and names, or reads them as a drive, a stream or a device:
https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
Windows and macOS ignore case, macOS also the Unicode form.
"""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from agent_core.errors import CommandError
from agent_core.model.files import FileEntry

REFUSED = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]|[. ](?=[. ]*\Z)')  # also each dot and blank at the end
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|\Z)", re.IGNORECASE)


def names_in_zip(paths: Sequence[str]) -> list[str]:
    """The name in a zip for each path, in this order: the path itself, if every system takes it beside those before.

    What Windows refuses becomes `_`. A file that would take the place of another, or of a folder, gets a number.
    """
    wanted = ["/".join(map(_usable, path.split("/"))) for path in paths]
    taken = {_as_compared(str(folder)) for name in wanted for folder in PurePosixPath(name).parents}
    last = Counter[str]()
    names = []
    for name in wanted:
        free, clash = name, _as_compared(name)
        while _as_compared(free) in taken:
            last[clash] += 1
            free = _numbered(name, last[clash] + 1)
        taken.add(_as_compared(free))
        names.append(free)
    return names


def _usable(part: str) -> str:
    usable = REFUSED.sub("_", part)
    return f"_{usable}" if DEVICE.match(usable) else usable


def _numbered(name: str, number: int) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem} ({number}){path.suffix}"))


def _as_compared(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


CHUNK_BYTES = 1 << 18
FILE_MODE = 0o600 << 16
EARLIEST_YEAR, LATEST_YEAR = 1980, 2107  # of the format
MISSING = "not in this zip.txt"


class _Pieces:
    """A file that can only be written; what was written is taken away piece by piece."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: what was written waits for `take`."""

    def close(self) -> None:
        """Do nothing: there is no file."""

    def take(self) -> bytes:
        data = b"".join(self.written)
        self.written.clear()
        return data


async def zip_stream(entries: Sequence[FileEntry], read: Callable[[str], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    """The pieces of a zip with these files, named in UTF-8 as in the workspace where every system can unpack that.

    A file that cannot be read, such as one that was deleted meanwhile, is named with the reason in a text at the end.
    """
    pieces, missing = _Pieces(), list[str]()
    *names, name_of_missing = names_in_zip([*(entry.path for entry in entries), MISSING])
    with ZipFile(pieces, "w", ZIP_DEFLATED) as archive:
        for entry, name in zip(entries, names, strict=True):
            try:
                data = await read(entry.path)
            except CommandError as fault:
                missing.append(f"{entry.path}: {fault}\n")
                continue
            with archive.open(_info(entry, name), "w") as member:
                for start in range(0, len(data), CHUNK_BYTES):
                    await asyncio.to_thread(member.write, data[start : start + CHUNK_BYTES])
                    yield pieces.take()
        if missing:
            archive.writestr(name_of_missing, "".join(missing))
    yield pieces.take()


def _info(entry: FileEntry, name: str) -> ZipInfo:
    year, month, day, hour, minute, second = entry.changed_at.timetuple()[:6]
    info = ZipInfo(name, (min(max(year, EARLIEST_YEAR), LATEST_YEAR), month, day, hour, minute, second))
    info.compress_type, info.external_attr = ZIP_DEFLATED, FILE_MODE
    return info
