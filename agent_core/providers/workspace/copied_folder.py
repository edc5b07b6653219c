"""The local copy of a workspace's folder, in which programs run: what is in it, and changes of single files.

Programs may change it at the same time, so links are never followed. Nothing is flushed to the disk: it is a copy.
"""

import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from agent_core.errors import CommandError
from agent_core.providers.sandbox.workspace_quota import WorkspaceEntry, entries_in
from agent_core.providers.workspace.safe_fs import (
    OPEN_CREATE,
    OPEN_READ,
    open_descriptor,
    open_folder,
    open_regular_file,
    remove_tree,
    translate_errors,
)
from agent_core.providers.workspace.workspace_paths import MAX_DEPTH, TEMPORARY_PREFIX, is_name

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """What decides whether a file was changed: SHA-256 of its content, and whether it is executable."""

    digest: str
    is_program: bool
    size: int


@dataclass(slots=True)
class FolderContent:
    """The files and folders of a copy by path. `left_out`: links, devices and names that agents cannot use."""

    files: dict[str, CopiedFile] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CopiedFolder:
    """A folder of this machine. All methods block."""

    folder: Path

    def scan(self) -> FolderContent:
        """Read every file and return what is there."""
        content = FolderContent()
        with translate_errors(""), suppress(FileNotFoundError), open_folder(self.folder, ()) as top:
            for entry in entries_in(top):
                if not entry.name.startswith(TEMPORARY_PREFIX):
                    _add(content, entry)
        return content

    def holds(self, path: str, expected: CopiedFile | None) -> bool:
        """Whether this file is there now; None: whether nothing is there."""
        *folders, name = path.split("/")
        with (
            translate_errors(path),
            suppress(FileNotFoundError),
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_READ) as descriptor,
        ):
            return _described(descriptor) == expected
        return expected is None

    def read(self, path: str) -> bytes:
        *folders, name = path.split("/")
        with (
            translate_errors(path),
            open_folder(self.folder, folders) as folder,
            open_regular_file(folder, name, path, OPEN_READ) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as file,
        ):
            return file.read()

    def write(self, path: str, data: bytes, *, is_program: bool, changed_at: datetime) -> None:
        """Replace a file."""
        *folders, name = path.split("/")
        with translate_errors(path), open_folder(self.folder, folders, make=True) as folder:
            draft = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
            with (
                open_descriptor(draft, OPEN_CREATE, within=folder) as descriptor,
                os.fdopen(descriptor, "wb", closefd=False) as file,
            ):
                file.write(data)
                file.flush()
                os.fchmod(descriptor, 0o700 if is_program else 0o600)
                os.utime(descriptor, (changed_at.timestamp(), changed_at.timestamp()))
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)

    def delete(self, path: str) -> None:
        *folders, name = path.split("/")
        with translate_errors(path), suppress(FileNotFoundError), open_folder(self.folder, folders) as folder:
            os.unlink(name, dir_fd=folder)

    def rename(self, path: str, new_name: str) -> None:
        """Give a file another name in the same folder."""
        *folders, name = path.split("/")
        with translate_errors(path), open_folder(self.folder, folders) as folder:
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)

    def make(self, path: str = "") -> None:
        """Make a folder, with those above it."""
        with translate_errors(path), open_folder(self.folder, path.split("/") if path else (), make=True):
            pass

    def remove(self) -> None:
        with suppress(FileNotFoundError), open_folder(self.folder.parent, ()) as parent:
            remove_tree(parent, self.folder.name)


def _add(content: FolderContent, entry: WorkspaceEntry) -> None:
    mode = entry.status.st_mode
    if not all(map(is_name, entry.path.split("/"))) or entry.depth > MAX_DEPTH:
        content.left_out.append(entry.path)
    elif stat.S_ISDIR(mode):
        content.folders.add(entry.path)
    else:
        try:
            with open_regular_file(entry.folder, entry.name, entry.path, OPEN_READ) as descriptor:
                content.files[entry.path] = _described(descriptor)
        except FileNotFoundError:
            return
        except (OSError, CommandError):
            content.left_out.append(entry.path)


def _described(descriptor: int) -> CopiedFile:
    digest, size = sha256(), 0
    while chunk := os.read(descriptor, CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    return CopiedFile(digest.hexdigest(), bool(os.fstat(descriptor).st_mode & stat.S_IXUSR), size)
