"""Race-free file access relative to directory descriptors (openat, O_NOFOLLOW). It never follows symlinks."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from agent_core.capabilities.files.workspace_paths import (
    MAX_DEPTH,
    TEMPORARY_PREFIX,
    is_file_error,
    is_folder_error,
    is_name,
    no_file_error,
)
from agent_core.errors import CommandError, OutsideWorkspace
from agent_core.model.files import MAX_LISTED_FILES, FileEntry

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
OPEN_APPEND = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_VISITED = 100_000  # entries of any kind
OPEN_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class StaleFile(CommandError):
    """Another machine replaced or deleted the file while it was open here. On NFS only."""


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn OSError into CommandError, or OutsideWorkspace for a symlink; messages name the path in the workspace."""
    try:
        yield
    except FileNotFoundError:
        raise no_file_error(path) from None
    except IsADirectoryError:
        raise is_folder_error(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutsideWorkspace(path) from None
        kind = StaleFile if error.errno == errno.ESTALE else CommandError
        raise kind(f"{path or 'The workspace'} could not be used: {error.strerror}.") from None


@contextmanager
def open_descriptor(name: str | Path, flags: int, *, within: int | None = None) -> Iterator[int]:
    """Open a file or folder for the with-block."""
    descriptor = os.open(name, flags, 0o600, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open the folder `parts` below `root`, one part after the other; `make` creates missing folders."""
    if make:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = _open_folder(root, None, ())
    try:
        for depth, name in enumerate(parts, 1):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=descriptor)
            inner = _open_folder(name, descriptor, parts[:depth])
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_regular_file(folder: int, name: str, path: str, flags: int) -> Iterator[int]:
    """Open an existing regular file. Its type is checked before, since opening a device has effects, and after."""
    stat_file(folder, name, path)
    with open_descriptor(name, flags, within=folder) as descriptor:
        _require_regular(os.fstat(descriptor), path)
        yield descriptor


def stat_file(folder: int, name: str, path: str) -> os.stat_result:
    """The status of a regular file; raise FileNotFoundError, or CommandError for anything else."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    _require_regular(status, path)
    return status


def replace_file(folder: int, name: str, data: bytes, guard: Callable[[], AbstractContextManager[None]]) -> None:
    """Replace a file atomically and durably (fsync, rename).

    The rename is done inside `guard`; if that raises, the file stays.
    """
    draft = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        with open_descriptor(draft, OPEN_CREATE, within=folder) as descriptor:
            write_all(descriptor, data)
        with guard():
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
    os.fsync(folder)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data and fsync."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def files_below(folder: int, prefix: str = "", depth: int = 0) -> list[FileEntry]:
    """Regular files with valid names, unordered; symlinks, devices and vanished entries are skipped.

    Stops after MAX_LISTED_FILES files or MAX_VISITED entries; folders deeper than MAX_DEPTH are skipped.
    """
    walk = _Walk()
    with suppress(_LimitReached):
        walk.enter(folder, prefix, depth)
    return walk.found


def remove_tree(parent: int, name: str) -> None:
    """Delete a file or a folder of any depth: nested folders are moved up to the top one before they are emptied."""
    if not _is_folder(parent, name):
        os.unlink(name, dir_fd=parent)
        return
    with open_descriptor(name, OPEN_FOLDER, within=parent) as top:
        while names := _names_in(top):
            for each in names:
                _remove(top, each)
    os.rmdir(name, dir_fd=parent)


def _open_folder(name: str | Path, within: int | None, parts: Sequence[str]) -> int:
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=within)
    except NotADirectoryError:
        status = os.stat(name, dir_fd=within, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OutsideWorkspace("/".join(parts)) from None
        raise is_file_error("/".join(parts)) from None


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OutsideWorkspace(path)
    if stat.S_ISDIR(status.st_mode):
        raise is_folder_error(path)
    if not stat.S_ISREG(status.st_mode):
        raise CommandError(f"{path} is a pipe, a socket or a device, not a file.")
    if status.st_nlink > 1:
        raise CommandError(f"{path} is linked to from elsewhere and is left alone.")


class _LimitReached(Exception):
    """The limit of listed files or visited entries is reached."""


@dataclass(slots=True)
class _Walk:
    found: list[FileEntry] = field(default_factory=list)
    left: int = MAX_VISITED

    def enter(self, folder: int, prefix: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self.left -= 1
                if self.left < 0 or len(self.found) >= MAX_LISTED_FILES:
                    raise _LimitReached
                if is_name(entry.name) and depth < MAX_DEPTH:
                    with suppress(OSError):
                        self._take(entry, folder, f"{prefix}{entry.name}", depth)

    def _take(self, entry: os.DirEntry[str], folder: int, path: str, depth: int) -> None:
        if entry.is_dir(follow_symlinks=False):
            with open_descriptor(entry.name, OPEN_FOLDER, within=folder) as inner:
                self.enter(inner, f"{path}/", depth + 1)
        elif entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            self.found.append(FileEntry(path, status.st_size, _time(status.st_mtime)))


def _time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        return datetime.fromtimestamp(0, UTC)  # a program can set any time stamp


def _remove(top: int, name: str) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    with open_descriptor(name, OPEN_FOLDER, within=top) as inner:
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
