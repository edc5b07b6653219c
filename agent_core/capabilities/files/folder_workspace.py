"""Implements the workspace ports with a folder for each agent: reads, writes, lists and trashes files there.

What blocks runs in threads, except that small files on a disk of this machine are read at once: that takes a tenth of
the time of a switch to a thread.

Several machines may share the folder by NFS: `docs/how-to/run-on-several-machines.md` says what it must guarantee.
"""

import asyncio
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from agent_core.capabilities.files.safe_fs import (
    OPEN_APPEND,
    OPEN_READ,
    StaleFile,
    files_below,
    open_descriptor,
    open_folder,
    open_regular_file,
    remove_tree,
    replace_file,
    stat_file,
    translate_errors,
    write_all,
)
from agent_core.capabilities.files.workspace_lock import lock_workspace
from agent_core.capabilities.files.workspace_paths import (
    IDENTITY_NAME,
    LIMITS,
    MAX_IDENTITY_BYTES,
    OWNER_NAME,
    TRASH_FOLDER,
    VERSIONS_FOLDER,
    Limits,
    changed_error,
    folder_name,
    is_own_name,
    new_identity,
    no_folder_error,
    require_fits,
    split_file_path,
    split_path,
)
from agent_core.capabilities.files.workspace_quota import entries_in
from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry, StorageIdentity, content_fingerprint
from agent_core.ports.files import WorkspaceOwner

T = TypeVar("T")
MAX_STALE_READS = 3


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Implements `Files` in a folder, which is created at the first write."""

    folder: Path
    limits: Limits = LIMITS

    @property
    def trash(self) -> "FolderFiles":
        return replace(self, folder=self.folder.parent / TRASH_FOLDER / self.folder.name, limits=LIMITS)

    @property
    def versions(self) -> "FolderFiles":
        return replace(self, folder=self.folder.parent / VERSIONS_FOLDER / self.folder.name, limits=LIMITS)

    async def read(self, path: str) -> bytes:
        return await asyncio.to_thread(_retry_stale, lambda: self._read(path))

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        await asyncio.to_thread(self._write, path, data, append, expected)

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        await asyncio.to_thread(self._delete, path, expected)

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """List the files below the folder; skip entries whose name is not a valid part of a path."""
        return await asyncio.to_thread(_retry_stale, lambda: self._listing(folder))

    async def fingerprint(self, path: str) -> str:
        """SHA-256 of the content; for a file over the size limit, SHA-256 of inode, size and modification time."""
        return await asyncio.to_thread(_retry_stale, lambda: self._fingerprint(path))

    def _read(self, path: str) -> bytes:
        *folders, name = split_file_path(path)
        with (
            translate_errors(path),
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_READ) as descriptor,
        ):
            data, _ = self._content(descriptor)
        if len(data) > self.limits.file_bytes:
            raise CommandError(f"{path} is too long: at most {self.limits.file_bytes:,} bytes can be read.")
        return data

    def _write(self, path: str, data: bytes, append: bool, expected: str | None) -> None:
        parts = split_file_path(path)
        with translate_errors(path):
            if not append:
                self._replace(path, parts, data, lambda: self._guard(path, expected))
                return
            with self._guard(path, expected):
                self._append(path, parts, data)

    def _replace(
        self, path: str, parts: Sequence[str], data: bytes, guard: Callable[[], AbstractContextManager[None]]
    ) -> None:
        *folders, name = parts
        self._require_fits(path, len(data), self._size(path))
        with open_folder(self.folder, folders, make=True) as folder:
            replace_file(folder, name, data, guard)

    def _append(self, path: str, parts: Sequence[str], data: bytes) -> None:
        """Append inside the lock, and open the file there: O_APPEND of NFS writes at the end that was last seen."""
        *folders, name = parts
        old = self._size(path)
        if old is None:
            self._replace(path, parts, data, nullcontext)
            return
        self._require_fits(path, old + len(data), old)
        with (
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_APPEND) as descriptor,
        ):
            write_all(descriptor, data)

    def _delete(self, path: str, expected: str | None) -> None:
        *folders, name = split_file_path(path)
        with translate_errors(path), open_folder(self.folder, folders) as folder:
            stat_file(folder, name, path)
            with self._guard(path, expected):
                os.unlink(name, dir_fd=folder)

    @contextmanager
    def _guard(self, path: str, expected: str | None) -> Iterator[None]:
        """Hold the workspace's lock; raise CommandError if `expected` is given and is not the file's fingerprint."""
        with lock_workspace(self.folder):
            if expected is not None and _retry_stale(lambda: self._fingerprint(path)) != expected:
                raise changed_error(path)
            yield

    def _listing(self, path: str) -> tuple[FileEntry, ...]:
        parts = split_path(path)
        with translate_errors(path), suppress(FileNotFoundError), open_folder(self.folder, parts) as folder:
            found = files_below(folder, "".join(f"{part}/" for part in parts), len(parts))
            return tuple(sorted(found, key=lambda entry: entry.path))
        if parts:
            raise no_folder_error(path)
        return ()

    def _fingerprint(self, path: str) -> str:
        *folders, name = split_file_path(path)
        with (
            translate_errors(path),
            suppress(FileNotFoundError),
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_READ) as descriptor,
        ):
            return self._digest(*self._content(descriptor))
        return ""

    def _content(self, descriptor: int) -> tuple[bytes, os.stat_result]:
        """The content of an open file up to one byte over the size limit."""
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(self.limits.file_bytes + 1), os.fstat(descriptor)

    def _digest(self, data: bytes, status: os.stat_result) -> str:
        identity = (
            f"{status.st_ino} {status.st_size} {status.st_mtime_ns}" if len(data) > self.limits.file_bytes else ""
        )
        return content_fingerprint(identity.encode() or data)

    def _size(self, path: str) -> int | None:
        *folders, name = split_file_path(path)
        with suppress(FileNotFoundError), open_folder(self.folder, folders) as folder:
            return stat_file(folder, name, path).st_size
        return None

    def _require_fits(self, path: str, size: int, old: int | None) -> None:
        sizes: list[int] = []
        with suppress(FileNotFoundError), open_folder(self.folder, ()) as folder:
            sizes = [entry.length for entry in entries_in(folder) if entry.length is not None]
        others = len(sizes) - (old is not None)
        require_fits(path, size=size, other_bytes=sum(sizes) - (old or 0), other_files=others, limits=self.limits)


@dataclass(frozen=True, slots=True)
class FolderWorkspaces:
    """Implements `Workspaces`: a folder inside `root` for each root agent, named by its id."""

    root: Path
    limits: Limits = LIMITS

    def of(self, agent: Agent) -> FolderFiles:
        folder = self.root / folder_name(agent.home)
        return FolderFiles(folder, self.limits)

    async def identify(self) -> StorageIdentity:
        """The identity of the folder, made at the first call; raise CommandError if it cannot be read or written."""
        text = await asyncio.to_thread(self._read_or_make, IDENTITY_NAME, new_identity())
        return StorageIdentity(id=text, place=f"{self.root} on {platform.node()}")

    async def belong_to(self, database_id: str) -> str:
        """Mark the folder with the database that its files belong to, unless it is marked; return the id in the mark.

        Raise CommandError if it cannot be read or written.
        """
        return await asyncio.to_thread(self._read_or_make, OWNER_NAME, database_id.encode("ascii"))

    async def trashes(self) -> tuple[FolderFiles, ...]:
        return await self._each_in(TRASH_FOLDER)

    async def version_stores(self) -> tuple[FolderFiles, ...]:
        return await self._each_in(VERSIONS_FOLDER)

    async def remove(self, agent: WorkspaceOwner) -> None:
        if agent.head:
            return
        for parent in (self.root, self.root / TRASH_FOLDER, self.root / VERSIONS_FOLDER):
            await asyncio.to_thread(_remove, parent, folder_name(agent.home))

    async def _each_in(self, beside: str) -> tuple[FolderFiles, ...]:
        names = await asyncio.to_thread(_names_in, self.root / beside)
        return tuple(FolderFiles(self.root / beside / name) for name in names)

    def _read_or_make(self, name: str, text: bytes) -> str:
        """The content of a file beside the workspaces, which is made with this text if it is missing."""
        with translate_errors(name), open_folder(self.root, (), make=True) as root, lock_workspace(self.root / name):
            try:
                with open_regular_file(root, name, name, OPEN_READ) as descriptor:
                    text = os.read(descriptor, MAX_IDENTITY_BYTES)
            except FileNotFoundError:
                replace_file(root, name, text, nullcontext)
        return text.decode("ascii", "replace").strip()  # an editor may have added a line end


def _remove(parent: Path, name: str) -> None:
    with (
        translate_errors(""),
        suppress(FileNotFoundError),
        open_descriptor(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as folder,
    ):
        remove_tree(folder, name)


def _names_in(folder: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return [each.name for each in folder.iterdir() if not is_own_name(each.name)]
    return []


def _retry_stale(read: Callable[[], T]) -> T:
    """Call `read` again if another machine replaced the file meanwhile."""
    for _ in range(MAX_STALE_READS - 1):
        with suppress(StaleFile):
            return read()
    return read()
