"""Reads the files of all workspaces from folders for an export, restores them elsewhere, and has the port for that.

A path begins with the name of the workspace's folder. Links, devices and names that agents cannot use are left out.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Protocol

from agent_core.capabilities.files.safe_fs import (
    OPEN_CREATE,
    OPEN_READ,
    open_descriptor,
    open_folder,
    open_regular_file,
)
from agent_core.capabilities.files.workspace_paths import DAMAGED, OWNER_NAME, TEMPORARY_PREFIX, is_name, is_own_name
from agent_core.capabilities.files.workspace_quota import WorkspaceEntry, entries_in
from agent_core.errors import CommandError, TransferRefused

CHUNK_BYTES = 1 << 20
UNFINISHED = f"{TEMPORARY_PREFIX}import"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """A file, or a folder if `content` is None. `modified`: nanoseconds since 1970."""

    path: str
    content: IO[bytes] | None = None
    is_program: bool = False
    modified: int = 0


class StoredFiles(Protocol):
    """The files of all workspaces in a storage. `left_out`: paths of what `files` could not read."""

    left_out: list[str]

    def files(self) -> Iterator[WorkspaceFile]:
        """All folders and files, each folder before its content. A file is open until the next one is asked for."""

    def restore(self, file: WorkspaceFile) -> None:
        """Write a file durably, or make a folder; raise TransferRefused if that is not possible."""

    def holds(self, path: str, digest: str) -> bool:
        """Whether a file with this SHA-256 is there; raise TransferRefused if something else is there."""

    def workspace_names(self) -> set[str]:
        """The names of the folders of all workspaces."""

    def read_owner(self) -> str:
        """The id of the database that the files belong to, or "". Raise TransferRefused if it cannot be read.

        DAMAGED if there is a mark in which nothing stands.
        """

    def release(self) -> None:
        """Let the files belong to the first database that a Signoff starts on; raise TransferRefused."""

    def folds_names(self) -> bool:
        """Whether names that differ only in case or in their Unicode normal form are one file."""


@dataclass(slots=True)
class WorkspaceTransfer:
    """Implements `StoredFiles` in the folder `root`."""

    root: Path
    left_out: list[str] = field(default_factory=list)

    def files(self) -> Iterator[WorkspaceFile]:
        with suppress(FileNotFoundError), open_folder(self.root, ()) as root:
            for entry in entries_in(root):
                if not is_own_name(entry.path.partition("/")[0]) and not entry.name.startswith(TEMPORARY_PREFIX):
                    yield from self._read(entry)

    def restore(self, file: WorkspaceFile) -> None:
        *folders, name = file.path.split("/")
        try:
            if file.content is None:
                with open_folder(self.root, (*folders, name), make=True):
                    return
            with open_folder(self.root, folders, make=True) as folder:
                _replace(folder, name, file, file.content)
        except (OSError, CommandError) as fault:
            raise TransferRefused(f"{self.root / file.path} cannot be written: {fault}") from fault

    def holds(self, path: str, digest: str) -> bool:
        *folders, name = path.split("/")
        found = sha256()
        try:
            with (
                open_folder(self.root, folders) as folder,
                open_regular_file(folder, name, path, OPEN_READ) as descriptor,
            ):
                while chunk := os.read(descriptor, CHUNK_BYTES):
                    found.update(chunk)
        except FileNotFoundError:
            return False
        except (OSError, CommandError) as fault:
            raise TransferRefused(f"{self.root / path} is there already and cannot be read: {fault}") from fault
        if found.hexdigest() != digest:
            raise TransferRefused(f"{self.root / path} is there already with other content.")
        return True

    def workspace_names(self) -> set[str]:
        return {path.name for path in self.root.iterdir()} if self.root.is_dir() else set()

    def read_owner(self) -> str:
        try:
            return (self.root / OWNER_NAME).read_text("ascii", "replace").strip() or DAMAGED
        except FileNotFoundError:
            return ""
        except OSError as fault:
            raise TransferRefused(f"{self.root} cannot be read: {fault.strerror}.") from fault

    def release(self) -> None:
        try:
            (self.root / OWNER_NAME).unlink(missing_ok=True)
        except OSError as fault:
            raise TransferRefused(f"{self.root / OWNER_NAME} cannot be deleted: {fault}") from fault

    def folds_names(self) -> bool:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe, twins = self.root / f"{UNFINISHED}-\u00e9", (f"{UNFINISHED}-\u00c9", f"{UNFINISHED}-e\u0301")
        probe.touch(mode=0o600)
        try:
            return any((self.root / twin).exists() for twin in twins)
        finally:
            probe.unlink()

    def _read(self, entry: WorkspaceEntry) -> Iterator[WorkspaceFile]:
        is_folder = stat.S_ISDIR(entry.status.st_mode)
        if not all(map(is_name, entry.path.split("/"))) or (entry.depth == 1 and not is_folder):
            self.left_out.append(entry.path)
        elif is_folder:
            yield WorkspaceFile(path=entry.path)
        else:
            with ExitStack() as stack:
                try:
                    descriptor = stack.enter_context(open_regular_file(entry.folder, entry.name, entry.path, OPEN_READ))
                except FileNotFoundError:
                    return
                except (OSError, CommandError):
                    self.left_out.append(entry.path)
                    return
                yield _file(entry.path, descriptor, stack.enter_context(os.fdopen(descriptor, "rb", closefd=False)))


def _file(path: str, descriptor: int, content: IO[bytes]) -> WorkspaceFile:
    status = os.fstat(descriptor)
    is_program = bool(status.st_mode & stat.S_IXUSR)
    return WorkspaceFile(path=path, content=content, is_program=is_program, modified=status.st_mtime_ns)


def _replace(folder: int, name: str, file: WorkspaceFile, content: IO[bytes]) -> None:
    with suppress(FileNotFoundError):  # of an interrupted import
        os.unlink(UNFINISHED, dir_fd=folder)
    with open_descriptor(UNFINISHED, OPEN_CREATE, within=folder) as descriptor:
        with os.fdopen(descriptor, "wb", closefd=False) as target:
            while chunk := content.read(CHUNK_BYTES):
                target.write(chunk)
        os.fchmod(descriptor, 0o700 if file.is_program else 0o600)
        os.utime(descriptor, ns=(file.modified, file.modified))
        os.fsync(descriptor)
    os.rename(UNFINISHED, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
