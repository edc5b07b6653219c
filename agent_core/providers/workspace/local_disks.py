"""Whether a folder lies on a disk of this machine, where small files are read at once and no network is waited for."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")  # its format: proc(5)
LOCAL_FILE_SYSTEMS = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
KNOWN_SECONDS = 10.0  # then the table is read again, which takes as long as a small file


@dataclass(slots=True)
class LocalDisk:
    """Whether one folder lies on a disk of this machine, also if something is mounted there later.

    `elapsed`: seconds that only grow.
    """

    folder: Path
    mounts: Path = MOUNTS
    elapsed: Callable[[], float] = time.monotonic
    _known: bool = False
    _known_until: float | None = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        now = self.elapsed()
        if self._known_until is None or now >= self._known_until:
            self._known, self._known_until = is_on_local_disk(self.folder, self.mounts), now + KNOWN_SECONDS
        return self._known


def is_on_local_disk(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether the folder, which need not exist yet, lies on file systems of this machine, with all that is below it.

    False if nothing tells.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
        place = _resolve(folder)
    except OSError:
        return False
    kinds = dict(_parse(line) for line in lines)  # of several mounts on one place the last one counts
    around = [point for point in kinds if place == point or place.startswith(f"{point.rstrip('/')}/")]
    inside = [point for point in kinds if point.startswith(f"{place.rstrip('/')}/")]
    return bool(around) and all(kinds[point] in LOCAL_FILE_SYSTEMS for point in (max(around, key=len), *inside))


@cache
def _resolve(folder: Path) -> str:
    """Resolved once: what is mounted there later may not answer."""
    return os.path.realpath(folder)


def _parse(line: str) -> tuple[str, str]:
    """The mount point and the kind of its file system."""
    mount, _, file_system = line.partition(" - ")
    return _unescape(mount.split(" ")[4]), file_system.partition(" ")[0]


def _unescape(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    for escaped, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(escaped, character)
    return text
