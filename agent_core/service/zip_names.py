"""Names of files in a zip that every system can unpack, none in the place of another. Pure.

Windows refuses some characters and names, or reads them as a drive, a stream or a device:
https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
Windows and macOS ignore case, macOS also the Unicode form.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

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
