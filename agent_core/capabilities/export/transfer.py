"""Exports the database and the files of all workspaces to one archive, and imports it into an empty place."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from agent_core.capabilities.export.archive import ArchiveReader, ArchiveWriter, Manifest, open_archive
from agent_core.capabilities.export.member_paths import require_distinct
from agent_core.capabilities.export.progress import Progress
from agent_core.capabilities.files.workspace_paths import folder_name
from agent_core.capabilities.files.workspace_transfer import StoredFiles, WorkspaceFile
from agent_core.errors import EngineTaken, FilesTaken, TransferRefused
from agent_core.persistence.locks import import_lock
from agent_core.persistence.row_transfer import NAMES, read_rows, require_empty, write_rows
from agent_core.persistence.schema import HEAD
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock

DRAFT_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSummary:
    """What was exported or imported. `left_out`: paths of links and of names that agents cannot use."""

    agents: int
    rows: int
    files: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The database at `url`, and the files of its agents. `tell` is passed the progress."""

    url: str
    workspaces: StoredFiles
    tell: Callable[[str], None]
    clock: Clock = field(default_factory=SystemClock)

    async def export_to(self, file: Path) -> TransferSummary:
        """Write everything to a new file that only this account can read; agents may be at work.

        Rows are of one snapshot. Files are read after them, so that an import finds files as after a crash: as old as
        the rows, or newer. Workspaces of agents that were created meanwhile are left out. Raise TransferRefused,
        DatabaseAway.
        """
        folder, progress = self.workspaces, Progress(self.clock, self.tell)
        known = folder.workspace_names()
        with _new_file(file) as target, ZipFile(target, "w", ZIP_DEFLATED) as opened:
            writer = ArchiveWriter(opened, HEAD)

            def add_table(name: str, lines: Iterator[bytes]) -> None:
                with _refuse_unwritable(file):
                    writer.add_table(name, progress.counted(_noting_ids(lines, known) if name == "agents" else lines))

            progress.start("rows exported")
            await read_rows(self.url, add_table)
            progress.start("files and folders exported")
            for each in progress.counted(folder.files()):
                if each.path.partition("/")[0] in known:
                    _add_file(writer, each)
                await self.clock.sleep(0)  # lets Ctrl-C in
            writer.add_manifest()
        return _summary(writer.manifest, tuple(folder.left_out))

    async def import_from(self, file: Path, *, take_files: bool = False) -> TransferSummary:
        """Write everything of an export into an empty database, and its files into the folder.

        Files that are there are compared, never overwritten, so that an interrupted import can be repeated. With
        `take_files`, files may be there that belong to another database. Raise TransferRefused, DatabaseAway.
        """
        with open_archive(file, HEAD, NAMES) as archive:
            progress = Progress(self.clock, self.tell)
            await self._check(archive, progress, takes_files=take_files)
            async with self._lock():
                await require_empty(self.url)
                if take_files:
                    self.workspaces.release()
                await self._restore_files(archive, progress)
                progress.start("rows imported", archive.manifest.rows)
                await write_rows(self.url, lambda name: progress.counted(archive.lines(name)))
            return _summary(archive.manifest)

    async def _check(self, archive: ArchiveReader, progress: Progress, *, takes_files: bool) -> None:
        """Raise TransferRefused if the file is damaged, or if other files, or files of another database, are there."""
        manifest, folder = archive.manifest, self.workspaces
        progress.start("bytes checked", sum(each.size for each in manifest.members.values()))
        archive.require_whole(progress.add)
        if not takes_files and folder.read_owner():
            raise FilesTaken("The agents' files at this place belong to another database, which could lose them.")
        if folder.folds_names():
            require_distinct((*manifest.files, *manifest.folders))
        for path, each in manifest.files.items():
            await self.clock.sleep(0)
            folder.holds(path, each.digest)

    async def _restore_files(self, archive: ArchiveReader, progress: Progress) -> None:
        manifest, folder = archive.manifest, self.workspaces
        progress.start("files imported", len(manifest.files))
        for path in manifest.folders:
            folder.restore(WorkspaceFile(path=path))
        for path, each in progress.counted(manifest.files.items()):
            await self.clock.sleep(0)
            if folder.holds(path, each.digest):
                continue
            with archive.content(path) as content:
                folder.restore(
                    WorkspaceFile(path=path, content=content, is_program=each.is_program, modified=each.modified)
                )

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        lock = import_lock(self.url, self.clock)
        try:
            await lock.acquire()
            yield
        except EngineTaken as taken:
            raise TransferRefused("A Signoff is at work on this database: stop it first.") from taken
        finally:
            await lock.release()


def _noting_ids(lines: Iterator[bytes], known: set[str]) -> Iterator[bytes]:
    """The rows of agents; adds the names of their workspaces to `known`."""
    for line in lines:
        known.add(folder_name(json.loads(line)["id"]))
        yield line


def _add_file(writer: ArchiveWriter, file: WorkspaceFile) -> None:
    if file.content is None:
        writer.add_folder(file.path)
    else:
        writer.add_file(file.path, file.content, is_program=file.is_program, modified=file.modified)


@contextmanager
def _new_file(file: Path) -> Iterator[IO[bytes]]:
    """A file that has its name only once it is complete; raise TransferRefused if it exists or cannot be written."""
    draft = file.with_name(f".{file.name}.unfinished")
    if os.path.lexists(file):
        raise TransferRefused(f"{file} exists already: name a new file.")
    try:
        with _refuse_unwritable(file):
            draft.unlink(missing_ok=True)
            with os.fdopen(os.open(draft, DRAFT_FLAGS, 0o600), "w+b") as target:
                yield target
                target.flush()
                os.fsync(target.fileno())
            draft.rename(file)
    finally:
        with suppress(OSError):
            draft.unlink()


@contextmanager
def _refuse_unwritable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise TransferRefused(f"{file} cannot be written: {fault.strerror}.") from fault


def _summary(manifest: Manifest, left_out: tuple[str, ...] = ()) -> TransferSummary:
    return TransferSummary(
        agents=manifest.tables["agents"].rows, rows=manifest.rows, files=len(manifest.files), left_out=left_out
    )
