"""The folder that a program works in: handed over to it, measured while it runs, cleared of what went over the limits.

Programs plant what they like in it, also while this looks. Folders are held by their descriptors, no link is followed.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.providers.folders import FOLDER, remove_tree
from agent_core.providers.paths import Limits

DEEPEST = 64
EACH = 3  # entries of any kind, folders and links among them, for each file that a workspace may hold
ENTERED = 0o711
BLOCK = 512  # stat(2)
SEEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder that is held open, with the way there and how deep it lies."""

    folder: int
    name: str
    path: str
    depth: int
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Held:
    """What was found in a workspace: every path, and the bytes of its files. `fault` says what is over the limits."""

    paths: frozenset[str] = frozenset()
    files: int = 0
    size: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Premises:
    """One workspace's folder with its limits."""

    root: Path
    limits: Limits

    def hand_over(self, owner: int | None = None, allowed: Held | None = None) -> Held:
        """Make everything in it usable for its owner, who is changed to this one; give what there is, as `measured`."""
        self.root.mkdir(parents=True, exist_ok=True)
        count = _Count(self._most(allowed or Held()))
        with _usable(self.root) as folder:
            _own(folder, owner)
            for entry in entries_in(folder):
                count.add(entry)
                with suppress(OSError):
                    _give(entry, owner)
        return count.held

    def measured(self, allowed: Held) -> Held:
        """What it holds now; counting ends where that is over the limits and over what was `allowed` before."""
        count = _Count(self._most(allowed))
        with _usable(self.root) as folder:
            for entry in entries_in(folder):
                count.add(entry)
                if count.fault:
                    break
        return count.held

    def clear(self, kept: Held) -> int:
        """Delete whatever was not there when `kept` was found; give how many that were, with folders as one."""
        deleted = 0
        with _usable(self.root) as folder:
            for entry in entries_in(folder):
                if entry.path not in kept.paths:
                    with suppress(OSError):
                        remove_tree(entry.folder, entry.name)
                        deleted += 1
        return deleted

    def _most(self, before: Held) -> "_Most":
        return _Most(
            files=max(self.limits.files, before.files),
            size=max(self.limits.workspace_bytes, before.size),
            entries=max(self.limits.files * EACH, len(before.paths)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Most:
    files: int
    size: int
    entries: int


@dataclass(slots=True)
class _Count:
    most: _Most
    paths: set[str] = field(default_factory=set)
    files: int = 0
    size: int = 0
    fault: str = ""

    @property
    def held(self) -> Held:
        return Held(frozenset(self.paths), self.files, self.size, self.fault)

    def add(self, entry: Entry) -> None:
        self.paths.add(entry.path)
        if stat.S_ISREG(entry.status.st_mode):
            self.files, self.size = (
                self.files + 1,
                self.size + max(entry.status.st_size, entry.status.st_blocks * BLOCK),
            )
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
            f"its workspace came to hold more than {most.entries:,} entries" if len(self.paths) > most.entries else ""
        )


def entries_in(folder: int, prefix: str = "", depth: int = 1) -> Iterator[Entry]:
    """Every entry below, a folder before what is in it; what vanishes meanwhile is left out."""
    with os.scandir(folder) as found:
        names = [each.name for each in found]
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        yield Entry(folder, name, f"{prefix}{name}", depth, status)
        if stat.S_ISDIR(status.st_mode) and depth <= DEEPEST:
            with suppress(OSError), _usable(name, folder) as inner:
                yield from entries_in(inner, f"{prefix}{name}/", depth + 1)


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
    needed = ENTERED if owner is not None else 0o700
    if status.st_mode & needed != needed:
        os.fchmod(folder, stat.S_IMODE(status.st_mode) | needed)


def _give(entry: Entry, owner: int | None) -> None:
    status = entry.status
    if owner is not None and status.st_uid != owner:
        os.chown(entry.name, owner, owner, dir_fd=entry.folder, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o600 != 0o600:
        _allow(entry.name, entry.folder)


def _allow(name: str | Path, within: int | None) -> None:
    """Give its owner the right to use a file or folder. It is held by a descriptor, so no link can take its place."""
    descriptor = os.open(name, SEEN, dir_fd=within)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            more = 0o700 if stat.S_ISDIR(mode) else 0o600
            Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode) | more)
    finally:
        os.close(descriptor)
