"""Brings a local copy of a workspace and its storage to the same state, file by file (three-way synchronisation).

A file that only one side changed since the last exchange is copied to the other. If both changed it, the storage keeps
its version and the copy's version is saved beside it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath

from agent_core.errors import CommandError
from agent_core.model.lines import counted
from agent_core.providers.workspace.copied_folder import CopiedFile, CopiedFolder, FolderContent
from agent_core.providers.workspace.s3_storage import ObjectChanged, StorageAway, StoredObject
from agent_core.providers.workspace.s3_workspace import FOLDER_MARKER, S3Files, S3Listing
from agent_core.providers.workspace.workspace_paths import folders_above, is_file_error, is_folder_error

MAX_PARALLEL = 16
MAX_NAMED, MAX_BESIDE = 5, 100


@dataclass(frozen=True, slots=True)
class ExchangedFile:
    """A file as it was on both sides after the last exchange."""

    etag: str
    local: CopiedFile


@dataclass(slots=True)
class ExchangeState:
    """What both sides had after the last exchange. `notes`: sentences on files, not yet told to anybody."""

    files: dict[str, ExchangedFile] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class CopyExchange:
    """One exchange. `state` is changed file by file, so that an exchange that was interrupted can be repeated."""

    remote: S3Files
    copy: CopiedFolder
    state: ExchangeState
    listing: S3Listing = field(default_factory=S3Listing)
    content: FolderContent = field(default_factory=FolderContent)

    async def run(self) -> None:
        """Exchange all changes. Raise StorageAway, after all that was possible; other faults become notes."""
        self.listing = await self.remote.load_listing()
        self.content = await asyncio.to_thread(self.copy.scan)
        self._note_left_out()
        paths = {*self.listing.files, *self.content.files, *self.state.files}
        known = sorted(path for path in paths if not self._is_left_out(path))
        deleted = [path for path in known if self._is_deleted(path)]  # first, as a file may become a folder
        await self._for_each(deleted, self._exchange_file)
        await self._for_each(sorted({*known} - {*deleted}), self._exchange_file)
        await self._exchange_folders()

    async def _for_each(self, paths: Iterable[str], act: Callable[[str], Awaitable[None]]) -> None:
        slots, away = asyncio.Semaphore(MAX_PARALLEL), list[StorageAway]()

        async def act_in_turn(path: str) -> None:
            async with slots:
                try:
                    if not away:
                        await act(path)
                except StorageAway as fault:
                    away.append(fault)
                except CommandError as fault:
                    self._note(f"{path} was not copied: {fault}")

        async with asyncio.TaskGroup() as group:
            for path in paths:
                group.create_task(act_in_turn(path))
        if away:
            raise away[0]

    async def _exchange_file(self, path: str) -> None:
        stored, local, before = self.listing.files.get(path), self.content.files.get(path), self.state.files.get(path)
        is_changed = local != (before.local if before else None)
        is_changed_elsewhere = (stored.etag if stored else "") != (before.etag if before else "")
        if is_changed_elsewhere and is_changed:
            await self._settle_conflict(path)
        elif is_changed_elsewhere:
            await self._bring_in(path, local)
        elif is_changed:
            try:
                await self._take_out(path, local, before.etag if before else None)
            except ObjectChanged:
                await self._settle_conflict(path)

    async def _take_out(self, path: str, local: CopiedFile | None, etag: str | None) -> None:
        """Save or delete the stored file as the copy has it; raise ObjectChanged if it is not the one with `etag`."""
        if local is None:
            if etag:
                await self.remote.storage.delete(self.remote.key(path), etag)
            self.listing.files.pop(path, None)
            self.state.files.pop(path, None)
            return
        self.remote.require_storable(path)
        self._require_place(path)
        data = await asyncio.to_thread(self.copy.read, path)
        self.listing.require_fits(path, len(data), self.remote.limits)
        self.listing.files[path] = StoredObject(key=path, size=len(data))  # counts for those that are saved meanwhile
        new = await self.remote.storage.replace(self.remote.key(path), data, etag, is_program=local.is_program)
        self._record(path, new, CopiedFile(sha256(data).hexdigest(), local.is_program, len(data)))

    async def _bring_in(self, path: str, replaced: CopiedFile | None = None) -> None:
        """Make the copy's file as the stored one is now, unless a program changed it after the scan."""
        found = await self._get(path)
        if not await asyncio.to_thread(self.copy.holds, path, replaced):
            return
        if found is None:
            await asyncio.to_thread(self.copy.delete, path)
            self.state.files.pop(path, None)
            return
        data = found.content or b""
        await asyncio.to_thread(self.copy.write, path, data, is_program=found.is_program, changed_at=found.changed_at)
        self._record(path, found.etag, CopiedFile(sha256(data).hexdigest(), found.is_program, len(data)))

    async def _settle_conflict(self, path: str) -> None:
        """Keep the stored version, and save the copy's one beside it."""
        found, local = await self._get(path), self.content.files.get(path)
        if found and local and sha256(found.content or b"").hexdigest() == local.digest:
            self._record(path, found.etag, local)
        elif local is None:
            if found:
                self._note(f"{path} was changed by somebody else meanwhile, so it was not deleted.")
            await self._bring_in(path)
        else:
            beside = await self._save_beside(path, local)
            how = "changed" if found else "deleted"
            self._note(f"{path} was {how} by somebody else meanwhile, so what the program wrote is in {beside}.")
            await self._bring_in(path)

    async def _save_beside(self, path: str, local: CopiedFile) -> str:
        for number in range(1, MAX_BESIDE):
            beside = _beside(path, number)
            if beside in self.listing.files or beside in self.content.files:
                continue
            await asyncio.to_thread(self.copy.rename, path, PurePosixPath(beside).name)
            try:
                await self._take_out(beside, local, None)
            except (ObjectChanged, CommandError) as fault:
                await asyncio.to_thread(self.copy.rename, beside, PurePosixPath(path).name)
                if isinstance(fault, CommandError):
                    raise
            else:
                return beside
        raise CommandError("there are too many other versions of it.")

    async def _exchange_folders(self) -> None:
        """Make and remove folders; one with files exists by them alone."""
        here, stored = self.content.folders, self.listing.folders
        filled, known = _folders_of(self.listing.files), self.state.folders
        removed = (stored - here - filled) & known
        await self._for_each(sorted(removed), self._forget_folder)
        await self._for_each(sorted(here - stored - filled - known), self.remote.keep_folder)
        await self._for_each(sorted(stored - here - removed), self._make_folder)
        self.state.folders = (stored | here | filled) - removed

    async def _forget_folder(self, path: str) -> None:
        await self.remote.storage.delete_all([self.remote.key(f"{path}/{FOLDER_MARKER}")])

    async def _make_folder(self, path: str) -> None:
        await asyncio.to_thread(self.copy.make, path)

    async def _get(self, path: str) -> StoredObject | None:
        found = await self.remote.storage.get(self.remote.key(path), self.remote.limits.file_bytes)
        if found and found.content is None:
            raise CommandError("it is too long to be copied to this machine.")
        return found

    def _record(self, path: str, etag: str, local: CopiedFile) -> None:
        self.state.files[path] = ExchangedFile(etag, local)
        self.listing.files[path] = StoredObject(key=path, size=local.size, etag=etag)

    def _require_place(self, path: str) -> None:
        """Raise CommandError if a stored file is where a folder of this one would be, or is below this one."""
        for above in folders_above(path):
            if above in self.listing.files:
                raise is_file_error(above)
        if path in self.listing.folders and any(each.startswith(f"{path}/") for each in self.listing.files):
            raise is_folder_error(path)

    def _is_deleted(self, path: str) -> bool:
        return path in self.state.files and not (path in self.listing.files and path in self.content.files)

    def _is_left_out(self, path: str) -> bool:
        left_out = self.state.left_out
        return bool(left_out) and (path in left_out or not left_out.isdisjoint(folders_above(path)))

    def _note(self, text: str) -> None:
        if text not in self.state.notes:
            self.state.notes.append(text)

    def _note_left_out(self) -> None:
        new = sorted({*self.content.left_out} - self.state.left_out)
        self.state.left_out = set(self.content.left_out)
        if new:
            more = f" and {counted(len(new) - MAX_NAMED, 'other')}" if len(new) > MAX_NAMED else ""
            named = ", ".join(map(ascii, new[:MAX_NAMED])) + more
            self._note(f"Not saved, as only plain files with usual names are: {named}.")


def _beside(path: str, number: int) -> str:
    """`report.txt` → `report.from-program.txt`; the second such file is `report.from-program-2.txt`."""
    pure = PurePosixPath(path)
    mark = "from-program" if number == 1 else f"from-program-{number}"
    return str(pure.with_name(f"{pure.stem}.{mark}{pure.suffix}"))


def _folders_of(paths: Iterable[str]) -> set[str]:
    """All folders above these files."""
    return {folder for path in paths for folder in folders_above(path)}
