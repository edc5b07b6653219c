"""Whether a folder lies on a disk of this machine, where small files are read at once and no network is waited for."""

import os
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")  # its format: proc(5)
LOCAL_FILE_SYSTEMS = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})


def is_on_local_disk(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether the folder, which need not exist yet, lies on a file system of this machine; False if nothing tells."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
        place = os.path.realpath(folder)
    except OSError:
        return False
    kinds = dict(_parse(line) for line in lines)  # of several mounts on one place the last one counts
    around = [point for point in kinds if place == point or place.startswith(f"{point.rstrip('/')}/")]
    return bool(around) and kinds[max(around, key=len)] in LOCAL_FILE_SYSTEMS


def _parse(line: str) -> tuple[str, str]:
    """The mount point and the kind of its file system."""
    mount, _, file_system = line.partition(" - ")
    return _unescape(mount.split(" ")[4]), file_system.partition(" ")[0]


def _unescape(text: str) -> str:
    """Blanks, tabs, line ends and backslashes are written as octal numbers."""
    for escaped, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(escaped, character)
    return text
