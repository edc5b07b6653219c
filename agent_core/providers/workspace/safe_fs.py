"""Folders held by their descriptors: no link is ever followed, whatever is put in the way meanwhile."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from agent_core.errors import CommandError, OutsideWorkspace
from agent_core.model.files import MAX_LISTED_FILES, FileEntry
from agent_core.providers.workspace.workspace_paths import MOST_DEPTH, UNFINISHED, is_file, is_folder, is_name, no_file

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
EXTEND = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_SEEN = 100_000  # folders, links and the like, beside files
MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Say what the system refused in a sentence that names only the path inside the workspace."""
    try:
        yield
    except FileNotFoundError:
        raise no_file(path) from None
    except IsADirectoryError:
        raise is_folder(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutsideWorkspace(path) from None
        raise CommandError(f"{path or 'The workspace'} could not be used: {error.strerror}.") from None


@contextmanager
def opened(name: str | Path, flags: int, *, within: int | None = None) -> Iterator[int]:
    """A descriptor that is closed afterwards."""
    descriptor = os.open(name, flags, 0o600, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def folder_at(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """The folder `parts` below `root`, reached name by name; raise FileNotFoundError unless it is to be made."""
    if make:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = _entered(root, None, ())
    try:
        for depth, name in enumerate(parts, 1):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=held)
            inner = _entered(name, held, parts[:depth])
            os.close(held)
            held = inner
        yield held
    finally:
        os.close(held)


@contextmanager
def regular_file(folder: int, name: str, path: str, flags: int) -> Iterator[int]:
    """An existing plain file, opened: checked before, so that no device is touched, and after, as it may be another."""
    status_of(folder, name, path)
    with opened(name, flags, within=folder) as descriptor:
        _must_be_plain(os.fstat(descriptor), path)
        yield descriptor


def status_of(folder: int, name: str, path: str) -> os.stat_result:
    """The status of a plain file; raise FileNotFoundError, or CommandError for anything that is not one."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    _must_be_plain(status, path)
    return status


def replace_file(folder: int, name: str, data: bytes, check: Callable[[], None]) -> None:
    """Put the data under the name in one step, on disk before it is seen. `check` may object right before."""
    draft = f"{UNFINISHED}{secrets.token_hex(8)}"
    try:
        with opened(draft, MAKE, within=folder) as descriptor:
            write_all(descriptor, data)
        check()
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    os.fsync(folder)


def write_all(descriptor: int, data: bytes) -> None:
    """Write to the end and wait for the disk."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def files_below(folder: int, prefix: str = "", depth: int = 0) -> list[FileEntry]:
    """Plain files with names of ours, in no order; links, devices and what vanishes meanwhile are left out.

    After so many files, or so many things that are none, the rest is left out too: a program may have made any number.
    """
    walk = _Walk()
    with suppress(_Enough):
        walk.enter(folder, prefix, depth)
    return walk.found


def remove_tree(parent: int, name: str) -> None:
    """Delete a folder however deep it is: folders are lifted to the top before they are emptied."""
    if not _is_folder(parent, name):
        os.unlink(name, dir_fd=parent)
        return
    with opened(name, FOLDER, within=parent) as top:
        while names := _names_in(top):
            for each in names:
                _remove(top, each)
    os.rmdir(name, dir_fd=parent)


def _entered(name: str | Path, within: int | None, parts: Sequence[str]) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=within)
    except NotADirectoryError:
        status = os.stat(name, dir_fd=within, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OutsideWorkspace("/".join(parts)) from None
        raise is_file("/".join(parts)) from None


def _must_be_plain(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OutsideWorkspace(path)
    if stat.S_ISDIR(status.st_mode):
        raise is_folder(path)
    if not stat.S_ISREG(status.st_mode):
        raise CommandError(f"{path} is a pipe, a socket or a device, not a file.")
    if status.st_nlink > 1:
        raise CommandError(f"{path} is linked to from elsewhere and is left alone.")


class _Enough(Exception):
    """As much was found, or looked at, as is listed."""


@dataclass(slots=True)
class _Walk:
    found: list[FileEntry] = field(default_factory=list)
    left: int = MOST_SEEN

    def enter(self, folder: int, prefix: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self.left -= 1
                if self.left < 0 or len(self.found) >= MAX_LISTED_FILES:
                    raise _Enough
                if is_name(entry.name) and depth < MOST_DEPTH:
                    with suppress(OSError):
                        self._take(entry, folder, f"{prefix}{entry.name}", depth)

    def _take(self, entry: os.DirEntry[str], folder: int, path: str, depth: int) -> None:
        if entry.is_dir(follow_symlinks=False):
            with opened(entry.name, FOLDER, within=folder) as inner:
                self.enter(inner, f"{path}/", depth + 1)
        elif entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            self.found.append(FileEntry(path, status.st_size, _time(status.st_mtime)))


def _time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        return datetime.fromtimestamp(0, UTC)  # a program may have set any time


def _remove(top: int, name: str) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    with opened(name, FOLDER, within=top) as inner:
        for child in _names_in(inner):
            if _is_folder(inner, child):
                os.rename(child, secrets.token_hex(12), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    os.rmdir(name, dir_fd=top)


def _names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_folder(within: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
