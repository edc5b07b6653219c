"""The folder that a program works in: handed over to it, measured while it runs, cleared of what went over the limits.

Handing it over also clears set-id bits: a file with one gives its owner's rights to every account of the machine.

Programs plant what they like in it, also while this looks. Folders are held by their descriptors, no link is followed.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.providers.workspace.safe_fs import FOLDER, remove_tree
from agent_core.providers.workspace.workspace_paths import Limits, is_name

DEEPEST = 64
EACH = 3  # entries of any kind, folders and links among them, for each file that a workspace may hold
ENTERED = 0o711
BLOCK = 512  # stat(2)
SEEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
SHORTEN = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SET_ID_BITS = stat.S_ISUID | stat.S_ISGID
MOST_NAMED, LONGEST_PATH = 10, 200


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """A name in a folder that is held open, with the way there and how deep it lies."""

    folder: int
    name: str
    path: str
    depth: int
    status: os.stat_result

    @property
    def length(self) -> int | None:
        """Bytes of a plain file, None of anything else."""
        return self.status.st_size if stat.S_ISREG(self.status.st_mode) else None

    @property
    def taken(self) -> int:
        """Bytes that it takes of the workspace."""
        return max(self.status.st_size, self.status.st_blocks * BLOCK) if self.length is not None else 0


@dataclass(frozen=True, slots=True)
class WorkspaceUsage:
    """What was found in a workspace: every path with its `Entry.length`, and the bytes of all files.

    `fault` says what is over the limits.
    """

    lengths: Mapping[str, int | None] = field(default_factory=dict)
    files: int = 0
    size: int = 0
    fault: str = ""

    def had(self, entry: WorkspaceEntry) -> bool:
        """Whether there was such an entry, of the same kind."""
        return entry.path in self.lengths and (self.lengths[entry.path] is None) == (entry.length is None)


@dataclass(frozen=True, slots=True)
class ClearedEntry:
    """A file or folder that was deleted, or a file that was cut back to `kept` bytes, with its size before."""

    path: str
    size: int
    kept: int | None = None

    def __str__(self) -> str:
        path = self.path if all(map(is_name, self.path.split("/"))) else ascii(self.path)
        shown = path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}…"
        if self.kept is None:
            return f"{shown} ({self.size:,} bytes, deleted)"
        return f"{shown} (cut back from {self.size:,} to {self.kept:,} bytes)"


def in_short(cleared: Sequence[ClearedEntry]) -> str:
    """The largest of them with name and size, and how many more there are."""
    named = sorted(cleared, key=lambda each: (-each.size, each.path))[:MOST_NAMED]
    more = len(cleared) - len(named)
    return ", ".join(map(str, named)) + (f" and {more:,} more" if more else "")


@dataclass(frozen=True, slots=True)
class WorkspaceQuota:
    """One workspace's folder with its limits."""

    root: Path
    limits: Limits

    def hand_over(self, owner: int | None = None, allowed: WorkspaceUsage | None = None) -> WorkspaceUsage:
        """Make everything in it usable for its owner, who is changed to this one; give what there is, as `measured`."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        count = _Count(self._most(allowed or WorkspaceUsage()))
        with _usable(self.root) as folder:
            _own(folder, owner)
            for entry in entries_in(folder):
                count.add(entry)
                with suppress(OSError):
                    _give(entry, owner)
        return count.held

    def measured(self, allowed: WorkspaceUsage) -> WorkspaceUsage:
        """What it holds now; counting ends where that is over the limits and over what was `allowed` before."""
        count = _Count(self._most(allowed))
        with _usable(self.root) as folder:
            for entry in entries_in(folder):
                count.add(entry)
                if count.fault:
                    break
        return count.held

    def clear(self, kept: WorkspaceUsage) -> tuple[ClearedEntry, ...]:
        """Bring it back within the limits, or to what `kept` was where that is more; give what that took.

        What was not there when `kept` was found is deleted. Where that is not enough, files are cut back to the length
        that they had then. Nothing else is touched.
        """
        with _usable(self.root) as folder:
            deleted = [*_delete_new(folder, kept)]
            cut = [*_cut_back(folder, kept)] if self.measured(kept).fault else []
        return (*deleted, *cut)

    def _most(self, before: WorkspaceUsage) -> "_Most":
        return _Most(
            files=max(self.limits.files, before.files),
            size=max(self.limits.workspace_bytes, before.size),
            entries=max(self.limits.files * EACH, len(before.lengths)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Most:
    files: int
    size: int
    entries: int


@dataclass(slots=True)
class _Count:
    most: _Most
    lengths: dict[str, int | None] = field(default_factory=dict)
    files: int = 0
    size: int = 0
    fault: str = ""

    @property
    def held(self) -> WorkspaceUsage:
        return WorkspaceUsage(self.lengths, self.files, self.size, self.fault)

    def add(self, entry: WorkspaceEntry) -> None:
        self.lengths[entry.path] = entry.length
        self.files, self.size = self.files + (entry.length is not None), self.size + entry.taken
        self.fault = self.fault or self._fault(entry.depth)

    def _fault(self, depth: int) -> str:
        most = self.most
        if depth > DEEPEST:
            return f"the folders of its workspace came to lie more than {DEEPEST} deep"
        if self.files > most.files:
            return f"its workspace came to hold more than {most.files:,} files"
        if self.size > most.size:
            return f"its workspace came to hold more than {most.size:,} bytes"
        return (
            f"its workspace came to hold more than {most.entries:,} entries" if len(self.lengths) > most.entries else ""
        )


def entries_in(folder: int, prefix: str = "", depth: int = 1) -> Iterator[WorkspaceEntry]:
    """Every entry below, a folder before what is in it; what vanishes meanwhile is left out."""
    with os.scandir(folder) as found:
        names = [each.name for each in found]
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        yield WorkspaceEntry(folder, name, f"{prefix}{name}", depth, status)
        if stat.S_ISDIR(status.st_mode) and depth <= DEEPEST:
            with suppress(OSError), _usable(name, folder) as inner:
                yield from entries_in(inner, f"{prefix}{name}/", depth + 1)


def _delete_new(folder: int, kept: WorkspaceUsage) -> Iterator[ClearedEntry]:
    for entry in entries_in(folder):
        if not kept.had(entry):
            with suppress(OSError):
                size = _size_of(entry)
                remove_tree(entry.folder, entry.name)
                yield ClearedEntry(entry.path, size)


def _cut_back(folder: int, kept: WorkspaceUsage) -> Iterator[ClearedEntry]:
    for entry in entries_in(folder):
        before, now = kept.lengths.get(entry.path), entry.length
        if before is not None and now is not None and now > before:
            with suppress(OSError):
                descriptor = os.open(entry.name, SHORTEN, dir_fd=entry.folder)
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
    with _usable(entry.name, entry.folder) as inner:
        return sum(each.length or 0 for each in entries_in(inner))


@contextmanager
def _usable(name: str | Path, within: int | None = None) -> Iterator[int]:
    """A folder, opened also where a program took the right to do so away from everybody."""
    try:
        descriptor = os.open(name, FOLDER, dir_fd=within)
    except PermissionError:
        _allow(name, within)
        descriptor = os.open(name, FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _own(folder: int, owner: int | None) -> None:
    """The folder of all: root enters it for its owner, and without a root's rights."""
    status = os.fstat(folder)
    if owner is not None and status.st_uid != owner:
        os.fchown(folder, owner, owner)
    mode = (stat.S_IMODE(status.st_mode) | (ENTERED if owner is not None else 0o700)) & ~SET_ID_BITS
    if mode != stat.S_IMODE(status.st_mode):
        os.fchmod(folder, mode)


def _give(entry: WorkspaceEntry, owner: int | None) -> None:
    status = entry.status
    if owner is not None and status.st_uid != owner:
        os.chown(entry.name, owner, owner, dir_fd=entry.folder, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode) and (status.st_mode & 0o600 != 0o600 or status.st_mode & SET_ID_BITS):
        _allow(entry.name, entry.folder)


def _allow(name: str | Path, within: int | None) -> None:
    """Give its owner the right to use a file or folder, and take set-id bits from it.

    It is held by a descriptor, so no link can take its place.
    """
    descriptor = os.open(name, SEEN, dir_fd=within)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            more = 0o700 if stat.S_ISDIR(mode) else 0o600
            Path(f"/proc/self/fd/{descriptor}").chmod((stat.S_IMODE(mode) | more) & ~SET_ID_BITS)
    finally:
        os.close(descriptor)
