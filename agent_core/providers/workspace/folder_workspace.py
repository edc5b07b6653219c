"""Workspaces as folders on disk, one for each agent. Blocking calls run in threads."""

import asyncio
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.providers.sandbox.workspace_quota import entries_in
from agent_core.providers.workspace.safe_fs import (
    EXTEND,
    READ,
    files_below,
    folder_at,
    in_words,
    opened,
    regular_file,
    remove_tree,
    replace_file,
    status_of,
    write_all,
)
from agent_core.providers.workspace.workspace_paths import (
    LIMITS,
    Limits,
    file_parts,
    has_changed,
    must_fit,
    no_folder,
    parts_of,
)


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """One agent's workspace in a folder, which is made when first written to."""

    folder: Path
    limits: Limits = LIMITS

    async def read(self, path: str) -> bytes:
        """The whole file."""
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        """Replace the file in one step, or add at its end."""
        await asyncio.to_thread(self._write, path, data, append, expected)

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        """Remove the file."""
        await asyncio.to_thread(self._delete, path, expected)

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Every file in the folder and below, by path. What has a name that no path can have is left out."""
        return await asyncio.to_thread(self._listing, folder)

    async def fingerprint(self, path: str) -> str:
        """The SHA-256 of the file's content, or "" when there is none; too long a one goes by its size and time."""
        return await asyncio.to_thread(self._fingerprint, path)

    def _read(self, path: str) -> bytes:
        *folders, name = file_parts(path)
        with (
            in_words(path),
            folder_at(self.folder, folders) as folder,
            regular_file(folder, name, path, READ) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as file,
        ):
            data = file.read(self.limits.file_bytes + 1)
        if len(data) > self.limits.file_bytes:
            raise CommandError(f"{path} is too long: at most {self.limits.file_bytes:,} bytes can be read.")
        return data

    def _write(self, path: str, data: bytes, append: bool, expected: str | None) -> None:
        *folders, name = file_parts(path)
        with in_words(path):
            old = self._size(path)
            kept = old if append else None
            self._must_fit(path, (kept or 0) + len(data), old)
            with folder_at(self.folder, folders, make=True) as folder:
                if kept is None:
                    replace_file(folder, name, data, lambda: self._check(path, expected))
                    return
                with regular_file(folder, name, path, EXTEND) as descriptor:
                    if expected is not None and self._digest(descriptor) != expected:
                        raise has_changed(path)
                    write_all(descriptor, data)

    def _delete(self, path: str, expected: str | None) -> None:
        *folders, name = file_parts(path)
        with in_words(path), folder_at(self.folder, folders) as folder:
            status_of(folder, name, path)
            self._check(path, expected)
            os.unlink(name, dir_fd=folder)

    def _listing(self, path: str) -> tuple[FileEntry, ...]:
        parts = parts_of(path)
        with in_words(path), suppress(FileNotFoundError), folder_at(self.folder, parts) as folder:
            found = files_below(folder, "".join(f"{part}/" for part in parts), len(parts))
            return tuple(sorted(found, key=lambda entry: entry.path))
        if parts:
            raise no_folder(path)
        return ()

    def _fingerprint(self, path: str) -> str:
        *folders, name = file_parts(path)
        with (
            in_words(path),
            suppress(FileNotFoundError),
            folder_at(self.folder, folders) as folder,
            regular_file(folder, name, path, READ) as descriptor,
        ):
            return self._digest(descriptor)
        return ""

    def _digest(self, descriptor: int) -> str:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data, status = file.read(self.limits.file_bytes + 1), os.fstat(descriptor)
        told = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}" if len(data) > self.limits.file_bytes else ""
        return hashlib.sha256(told.encode() or data).hexdigest()

    def _check(self, path: str, expected: str | None) -> None:
        if expected is not None and self._fingerprint(path) != expected:
            raise has_changed(path)

    def _size(self, path: str) -> int | None:
        *folders, name = file_parts(path)
        with suppress(FileNotFoundError), folder_at(self.folder, folders) as folder:
            return status_of(folder, name, path).st_size
        return None

    def _must_fit(self, path: str, size: int, old: int | None) -> None:
        sizes: list[int] = []
        with suppress(FileNotFoundError), folder_at(self.folder, ()) as folder:
            sizes = [entry.length for entry in entries_in(folder) if entry.length is not None]
        others = len(sizes) - (old is not None)
        must_fit(path, size=size, other_bytes=sum(sizes) - (old or 0), other_files=others, limits=self.limits)


@dataclass(frozen=True, slots=True)
class FolderWorkspaces:
    """A folder for each agent, named by its id, inside `root`."""

    root: Path
    limits: Limits = LIMITS

    def of(self, agent: Agent) -> FolderFiles:
        """The agent's own; a helper's is that of the agent it helps."""
        return FolderFiles(self.root / _named(agent), self.limits)

    async def remove(self, agent: Agent) -> None:
        """Delete it with all its files; links in it are deleted, not what they lead to. A helper's stays."""
        if agent.head:
            return
        await asyncio.to_thread(self._remove, _named(agent))

    def _remove(self, name: str) -> None:
        with (
            in_words(""),
            suppress(FileNotFoundError),
            opened(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as root,
        ):
            remove_tree(root, name)


def _named(agent: Agent) -> str:
    return quote(agent.home, safe="").replace(".", "%2E")
