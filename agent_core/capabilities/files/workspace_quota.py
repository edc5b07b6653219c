"""Quota of a folder that programs write to: hands it to their user, measures it meanwhile, deletes the excess.

Programs may change the folder at the same time, so folders are accessed by descriptors and symlinks are never followed.
Set-id bits are cleared: a file with them gives its owner's rights to every account of the machine.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.capabilities.files.safe_fs import OPEN_FOLDER, remove_tree
from agent_core.capabilities.files.workspace_paths import Limits, is_name

MAX_FOLDER_DEPTH = 64
MAX_ENTRIES_PER_FILE = 3  # entries of any kind, such as folders and links, for each permitted file
TRAVERSABLE_MODE = 0o711
BLOCK_BYTES = 512  # stat(2)
OPEN_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_TRUNCATE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SET_ID_BITS = stat.S_ISUID | stat.S_ISGID
MAX_NAMED, MAX_PATH_CHARACTERS = 10, 200


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """An entry of the workspace. `folder`: the descriptor of the open folder that holds it; `path`: from the top."""

    folder: int
    name: str
    path: str
    depth: int
    status: os.stat_result

    @property
    def length(self) -> int | None:
        """Bytes of a regular file; None for anything else."""
        return self.status.st_size if stat.S_ISREG(self.status.st_mode) else None

    @property
    def disk_bytes(self) -> int:
        """Bytes that count against the quota: size or allocated blocks, whichever is larger."""
        return max(self.status.st_size, self.status.st_blocks * BLOCK_BYTES) if self.length is not None else 0


@dataclass(frozen=True, slots=True)
class WorkspaceUsage:
    """What a workspace holds, in total and by path. `fault`: a sentence on the exceeded limit, or "".

    `lengths`: the length of each file by path; None for anything but a file.
    """

    lengths: Mapping[str, int | None] = field(default_factory=dict)
    files: int = 0
    size: int = 0
    fault: str = ""

    def includes(self, entry: WorkspaceEntry) -> bool:
        """Whether this usage lists the path of the entry, and both are regular files or both are not."""
        return entry.path in self.lengths and (self.lengths[entry.path] is None) == (entry.length is None)


@dataclass(frozen=True, slots=True)
class ClearedEntry:
    """A deleted entry, or a file truncated to `allowed` bytes (None: deleted). `size` is the size before."""

    path: str
    size: int
    allowed: int | None = None

    def __str__(self) -> str:
        path = self.path if all(map(is_name, self.path.split("/"))) else ascii(self.path)
        shown = path if len(path) <= MAX_PATH_CHARACTERS else f"{path[:MAX_PATH_CHARACTERS]}…"
        if self.allowed is None:
            return f"{shown} ({self.size:,} bytes, deleted)"
        return f"{shown} (cut back from {self.size:,} to {self.allowed:,} bytes)"


def summarise(cleared: Sequence[ClearedEntry]) -> str:
    """A list of the largest entries with their sizes, and the number of the others."""
    named = sorted(cleared, key=lambda each: (-each.size, each.path))[:MAX_NAMED]
    more = len(cleared) - len(named)
    return ", ".join(map(str, named)) + (f" and {more:,} more" if more else "")


@dataclass(frozen=True, slots=True)
class WorkspaceQuota:
    """The folder of a workspace with its limits."""

    root: Path
    limits: Limits

    def hand_over(self, owner: int | None = None, allowed: WorkspaceUsage | None = None) -> WorkspaceUsage:
        """Give `owner` (a uid; None keeps the owners) all entries with read and write access; return the usage."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        count = _Counter.of(self.limits, allowed or WorkspaceUsage())
        with _open_folder(self.root) as folder:
            _set_owner(folder, owner)
            for entry in entries_in(folder):
                count.add(entry)
                with suppress(OSError):
                    _hand_over_entry(entry, owner)
        return count.usage

    def measure(self, allowed: WorkspaceUsage) -> WorkspaceUsage:
        """The usage now. Counting stops as soon as it exceeds both the limits and the earlier usage `allowed`."""
        count = _Counter.of(self.limits, allowed)
        with _open_folder(self.root) as folder:
            for entry in entries_in(folder):
                count.add(entry)
                if count.fault:
                    break
        return count.usage

    def clear(self, allowed: WorkspaceUsage) -> tuple[ClearedEntry, ...]:
        """Bring the workspace back to its limits, or to the usage `allowed` if larger; return what was removed.

        Entries that `allowed` does not include are deleted. If that is not enough, files are truncated to the length
        that they have in `allowed`. Nothing else is changed.
        """
        with _open_folder(self.root) as folder:
            deleted = [*_delete_new(folder, allowed)]
            cut = [*_cut_back(folder, allowed)] if self.measure(allowed).fault else []
        return (*deleted, *cut)


@dataclass(slots=True)
class _Counter:
    max_files: int
    max_bytes: int
    max_entries: int
    lengths: dict[str, int | None] = field(default_factory=dict)
    files: int = 0
    size: int = 0
    fault: str = ""

    @classmethod
    def of(cls, limits: Limits, before: WorkspaceUsage) -> "_Counter":
        entries = max(limits.files * MAX_ENTRIES_PER_FILE, len(before.lengths))
        return cls(max(limits.files, before.files), max(limits.workspace_bytes, before.size), entries)

    @property
    def usage(self) -> WorkspaceUsage:
        return WorkspaceUsage(self.lengths, self.files, self.size, self.fault)

    def add(self, entry: WorkspaceEntry) -> None:
        self.lengths[entry.path] = entry.length
        self.files, self.size = self.files + (entry.length is not None), self.size + entry.disk_bytes
        self.fault = self.fault or self._fault(entry.depth)

    def _fault(self, depth: int) -> str:
        if depth > MAX_FOLDER_DEPTH:
            return f"the folders of its workspace came to lie more than {MAX_FOLDER_DEPTH} deep"
        if self.files > self.max_files:
            return f"its workspace came to hold more than {self.max_files:,} files"
        if self.size > self.max_bytes:
            return f"its workspace came to hold more than {self.max_bytes:,} bytes"
        if len(self.lengths) > self.max_entries:
            return f"its workspace came to hold more than {self.max_entries:,} entries"
        return ""


def entries_in(folder: int, prefix: str = "", depth: int = 1) -> Iterator[WorkspaceEntry]:
    """All entries below the folder, each folder before its content. Entries that vanish meanwhile are skipped."""
    with os.scandir(folder) as found:
        names = [each.name for each in found]
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        yield WorkspaceEntry(folder, name, f"{prefix}{name}", depth, status)
        if stat.S_ISDIR(status.st_mode) and depth <= MAX_FOLDER_DEPTH:
            with suppress(OSError), _open_folder(name, folder) as inner:
                yield from entries_in(inner, f"{prefix}{name}/", depth + 1)


def _delete_new(folder: int, allowed: WorkspaceUsage) -> Iterator[ClearedEntry]:
    for entry in entries_in(folder):
        if not allowed.includes(entry):
            with suppress(OSError):
                size = _size_of(entry)
                remove_tree(entry.folder, entry.name)
                yield ClearedEntry(entry.path, size)


def _cut_back(folder: int, allowed: WorkspaceUsage) -> Iterator[ClearedEntry]:
    for entry in entries_in(folder):
        before, now = allowed.lengths.get(entry.path), entry.length
        if before is not None and now is not None and now > before:
            with suppress(OSError):
                descriptor = os.open(entry.name, OPEN_TRUNCATE, dir_fd=entry.folder)
                try:
                    if stat.S_ISREG(os.fstat(descriptor).st_mode):
                        os.ftruncate(descriptor, before)
                        yield ClearedEntry(entry.path, now, before)
                finally:
                    os.close(descriptor)


def _size_of(entry: WorkspaceEntry) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not stat.S_ISDIR(entry.status.st_mode):
        return entry.length or 0
    with _open_folder(entry.name, entry.folder) as inner:
        return sum(each.length or 0 for each in entries_in(inner))


@contextmanager
def _open_folder(name: str | Path, within: int | None = None) -> Iterator[int]:
    """Open a folder, restoring the owner's permissions if a program removed them."""
    try:
        descriptor = os.open(name, OPEN_FOLDER, dir_fd=within)
    except PermissionError:
        _grant_access(name, within)
        descriptor = os.open(name, OPEN_FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _set_owner(folder: int, owner: int | None) -> None:
    """Set owner and mode of the workspace's top folder, so that the owner can use it."""
    status = os.fstat(folder)
    if owner is not None and status.st_uid != owner:
        os.fchown(folder, owner, owner)
    mode = (stat.S_IMODE(status.st_mode) | (TRAVERSABLE_MODE if owner is not None else 0o700)) & ~SET_ID_BITS
    if mode != stat.S_IMODE(status.st_mode):
        os.fchmod(folder, mode)


def _hand_over_entry(entry: WorkspaceEntry, owner: int | None) -> None:
    status = entry.status
    if owner is not None and status.st_uid != owner:
        os.chown(entry.name, owner, owner, dir_fd=entry.folder, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode) and (status.st_mode & 0o600 != 0o600 or status.st_mode & SET_ID_BITS):
        _grant_access(entry.name, entry.folder)


def _grant_access(name: str | Path, within: int | None) -> None:
    """Grant the owner access and clear set-id bits, through a descriptor, so that no symlink is followed."""
    descriptor = os.open(name, OPEN_PATH, dir_fd=within)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            more = 0o700 if stat.S_ISDIR(mode) else 0o600
            Path(f"/proc/self/fd/{descriptor}").chmod((stat.S_IMODE(mode) | more) & ~SET_ID_BITS)
    finally:
        os.close(descriptor)
