"""Workspaces on S3-compatible storage for a machine that runs programs: each program gets a copy of the files.

The copy is made before the first program of a workspace starts, and removed after its last one ended. Files are
exchanged before a program starts, when it ends, and at each file command meanwhile.
"""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

from filelock import FileLock, Timeout

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry, StorageIdentity
from agent_core.ports.files import WorkspaceOwner
from agent_core.providers.sandbox.backend import user_for
from agent_core.providers.sandbox.lent_folder import LentFolder
from agent_core.providers.sandbox.workspace_quota import WorkspaceQuota
from agent_core.providers.workspace.copied_folder import CopiedFolder
from agent_core.providers.workspace.copy_exchange import CopyExchange, ExchangeState
from agent_core.providers.workspace.folder_workspace import FolderFiles
from agent_core.providers.workspace.s3_workspace import S3Files, S3Workspaces
from agent_core.providers.workspace.workspace_paths import Limits, folder_name

LOCK_SUFFIX = ".lock"


@dataclass(slots=True)
class WorkspaceCopy:
    """The copy of one workspace. `programs`: how many run in it, or are about to."""

    remote: S3Files
    folder: Path
    state: ExchangeState = field(default_factory=ExchangeState)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    programs: int = 0

    async def exchange(self) -> None:
        """Copy the changes of both sides. The caller holds the lock."""
        copied = CopiedFolder(self.folder)
        if not self.folder.is_dir():
            self.state = ExchangeState()  # what is not there was not deleted by a program
        await asyncio.to_thread(copied.make)
        await CopyExchange(remote=self.remote, copy=copied, state=self.state).run()
        if self.programs:
            quota = WorkspaceQuota(self.folder, self.remote.limits)
            await asyncio.to_thread(quota.hand_over, user_for(self.folder.name))


@dataclass(slots=True)
class WorkspaceCopies:
    """Implements `Workspaces` and `FolderLender`. `root`: the folder of this process's copies."""

    stored: S3Workspaces
    root: Path
    _copies: dict[str, WorkspaceCopy] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def limits(self) -> Limits:
        return self.stored.limits

    def of(self, agent: Agent) -> "CopiedFiles":
        return CopiedFiles(self.stored.of(agent), self)

    async def identify(self) -> StorageIdentity:
        return await self.stored.identify()

    async def belong_to(self, database_id: str) -> str:
        return await self.stored.belong_to(database_id)

    async def trashes(self) -> tuple[S3Files, ...]:
        return await self.stored.trashes()

    async def remove(self, agent: WorkspaceOwner) -> None:
        if not agent.head and (copy := self._copies.pop(folder_name(agent.home), None)):
            async with copy.lock:
                await asyncio.to_thread(CopiedFolder(copy.folder).remove)
        await self.stored.remove(agent)

    async def lend(self, agent: Agent) -> LentFolder:
        """The folder for one program, with the files as they are now; raise CommandError if they cannot be had."""
        name = folder_name(agent.home)
        folder = self.root / str(next(self._numbers)) / name
        copy = self._copies.setdefault(name, WorkspaceCopy(self.stored.of(agent), folder))
        copy.programs += 1
        try:
            async with copy.lock:
                await copy.exchange()
        except BaseException:
            copy.programs -= 1
            raise
        return LentFolder(FolderFiles(copy.folder, self.limits), self)

    async def take_back(self, name: str) -> str:
        """Save what a program changed; see `LentFolder.give_back`."""
        if (copy := self._copies.get(name)) is None:
            return ""
        copy.programs -= 1
        try:
            await self.exchange(name)
        except CommandError as fault:
            return f"Its files are not saved yet: {fault} They are saved with the next command on files."
        notes, copy.state.notes = copy.state.notes, []
        return "\n".join(notes)

    async def exchange(self, name: str) -> None:
        """Copy the changes of both sides, if the workspace is copied here; raise CommandError, such as StorageAway.

        A copy is removed once no program runs in it and all of it is saved.
        """
        if copy := self._copies.get(name):
            async with copy.lock:
                if self._copies.get(name) is copy:
                    await copy.exchange()
                    if not copy.programs:
                        del self._copies[name]
                        await asyncio.to_thread(CopiedFolder(copy.folder).remove)


@dataclass(frozen=True, slots=True)
class CopiedFiles:
    """Implements `Files`. Commands and programs see each other's changes as soon as a command runs."""

    stored: S3Files
    copies: WorkspaceCopies

    @property
    def trash(self) -> S3Files:
        return self.stored.trash

    async def read(self, path: str) -> bytes:
        await self._exchange()
        return await self.stored.read(path)

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        await self._exchange()
        await self.stored.write(path, data, append=append, expected=expected)
        await self._exchange()

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        await self._exchange()
        await self.stored.delete(path, expected=expected)
        await self._exchange()

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        await self._exchange()
        return await self.stored.list_files(folder)

    async def fingerprint(self, path: str) -> str:
        await self._exchange()
        return await self.stored.fingerprint(path)

    async def _exchange(self) -> None:
        await self.copies.exchange(self.stored.folder)


def make_copies_folder(parent: Path) -> tuple[Path, Callable[[], None]]:
    """A new folder for the copies of this process, and how to remove it; remove those of processes that died."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for lock_file in parent.glob(f"*{LOCK_SUFFIX}"):
        with suppress(Timeout), FileLock(lock_file, blocking=False):
            shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
            lock_file.unlink(missing_ok=True)
    folder = Path(mkdtemp(dir=parent))
    lock = FileLock(folder.with_suffix(LOCK_SUFFIX), blocking=False)
    lock.acquire()

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()

    return folder, remove
