"""Implements the workspace ports with a folder for each agent. Blocking calls run in threads."""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry, content_fingerprint
from agent_core.providers.sandbox.workspace_quota import entries_in
from agent_core.providers.workspace.safe_fs import (
    OPEN_APPEND,
    OPEN_READ,
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
from agent_core.providers.workspace.workspace_paths import (
    LIMITS,
    Limits,
    changed_error,
    no_folder_error,
    require_fits,
    split_file_path,
    split_path,
)


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Implements `Files` in a folder, which is created at the first write."""

    folder: Path
    limits: Limits = LIMITS

    async def read(self, path: str) -> bytes:
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        await asyncio.to_thread(self._write, path, data, append, expected)

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        await asyncio.to_thread(self._delete, path, expected)

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """List the files below the folder; skip entries whose name is not a valid part of a path."""
        return await asyncio.to_thread(self._listing, folder)

    async def fingerprint(self, path: str) -> str:
        """SHA-256 of the content; for a file over the size limit, SHA-256 of inode, size and modification time."""
        return await asyncio.to_thread(self._fingerprint, path)

    def _read(self, path: str) -> bytes:
        *folders, name = split_file_path(path)
        with (
            translate_errors(path),
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_READ) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as file,
        ):
            data = file.read(self.limits.file_bytes + 1)
        if len(data) > self.limits.file_bytes:
            raise CommandError(f"{path} is too long: at most {self.limits.file_bytes:,} bytes can be read.")
        return data

    def _write(self, path: str, data: bytes, append: bool, expected: str | None) -> None:
        *folders, name = split_file_path(path)
        with translate_errors(path):
            old = self._size(path)
            kept = old if append else None
            self._require_fits(path, (kept or 0) + len(data), old)
            with open_folder(self.folder, folders, make=True) as folder:
                if kept is None:
                    replace_file(folder, name, data, lambda: self._check(path, expected))
                    return
                with open_regular_file(folder, name, path, OPEN_APPEND) as descriptor:
                    if expected is not None and self._digest(descriptor) != expected:
                        raise changed_error(path)
                    write_all(descriptor, data)

    def _delete(self, path: str, expected: str | None) -> None:
        *folders, name = split_file_path(path)
        with translate_errors(path), open_folder(self.folder, folders) as folder:
            stat_file(folder, name, path)
            self._check(path, expected)
            os.unlink(name, dir_fd=folder)

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
            return self._digest(descriptor)
        return ""

    def _digest(self, descriptor: int) -> str:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data, status = file.read(self.limits.file_bytes + 1), os.fstat(descriptor)
        identity = (
            f"{status.st_ino} {status.st_size} {status.st_mtime_ns}" if len(data) > self.limits.file_bytes else ""
        )
        return content_fingerprint(identity.encode() or data)

    def _check(self, path: str, expected: str | None) -> None:
        if expected is not None and self._fingerprint(path) != expected:
            raise changed_error(path)

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
        return FolderFiles(self.root / _folder_name(agent), self.limits)

    async def remove(self, agent: Agent) -> None:
        if agent.head:
            return
        await asyncio.to_thread(self._remove, _folder_name(agent))

    def _remove(self, name: str) -> None:
        with (
            translate_errors(""),
            suppress(FileNotFoundError),
            open_descriptor(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as root,
        ):
            remove_tree(root, name)


def _folder_name(agent: Agent) -> str:
    return quote(agent.home, safe="").replace(".", "%2E")
