"""Implements the workspace ports on S3-compatible storage: an object for each file, below the name of its workspace.

S3 has no folders. A folder exists if a file is below it, or the object FOLDER_MARKER, which an emptied folder gets.
"""

from contextlib import suppress
from dataclasses import dataclass, field

from agent_core.capabilities.files.s3_storage import MAX_KEY_BYTES, ObjectChanged, S3Storage, StoredObject
from agent_core.capabilities.files.workspace_paths import (
    IDENTITY_NAME,
    LIMITS,
    MAX_IDENTITY_BYTES,
    OWNER_NAME,
    TEMPORARY_PREFIX,
    TRASH_FOLDER,
    VERSIONS_FOLDER,
    Limits,
    changed_error,
    folder_name,
    folders_above,
    is_file_error,
    is_folder_error,
    is_name,
    new_identity,
    no_file_error,
    no_folder_error,
    require_fits,
    split_file_path,
    split_path,
)
from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import MAX_LISTED_FILES, FileEntry, StorageIdentity, content_fingerprint
from agent_core.ports.files import WorkspaceOwner

FOLDER_MARKER = f"{TEMPORARY_PREFIX}folder"
NOT_IN_XML = "\ufffe\uffff"  # of the characters that names may have
MAX_TRIES = 50  # of an append beside other appends; each failure means that another one succeeded


@dataclass(slots=True)
class S3Listing:
    """The objects of a workspace by path, without markers, and its folders."""

    files: dict[str, StoredObject] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def add(self, path: str, found: StoredObject) -> None:
        self.folders.update(folders_above(path))
        if path.rpartition("/")[2] != FOLDER_MARKER:
            self.files[path] = found

    def require_file_path(self, path: str) -> None:
        """Raise CommandError if the path is a folder, or if a file is where its folders would be."""
        self.require_folder_path(path.rpartition("/")[0])
        if path in self.folders:
            raise is_folder_error(path)

    def require_folder_path(self, path: str) -> None:
        """Raise CommandError if the path, or a part of it, is a file."""
        for each in (*folders_above(path), path):
            if each in self.files:
                raise is_file_error(each)

    def require_fits(self, path: str, size: int, limits: Limits) -> None:
        others = [each.size for other, each in self.files.items() if other != path]
        require_fits(path, size=size, other_bytes=sum(others), other_files=len(others), limits=limits)


@dataclass(frozen=True, slots=True)
class S3Files:
    """Implements `Files` with the objects below `folder`. Of two writes that expect the same content one succeeds."""

    storage: S3Storage
    folder: str
    limits: Limits = LIMITS

    @property
    def trash(self) -> "S3Files":
        return S3Files(self.storage, f"{TRASH_FOLDER}/{self.folder}")

    @property
    def versions(self) -> "S3Files":
        return S3Files(self.storage, f"{VERSIONS_FOLDER}/{self.folder}")

    async def read(self, path: str) -> bytes:
        name = self._file_path(path)
        found = await self._get(name)
        if found is None:
            raise no_file_error(path)
        if found.content is None:
            raise CommandError(f"{path} is too long: at most {self.limits.file_bytes:,} bytes can be read.")
        return found.content

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        name = self._file_path(path)
        for _ in range(MAX_TRIES):
            try:
                await self._write(name, data, append, expected)
            except ObjectChanged:
                if expected is not None:
                    raise changed_error(path) from None
            else:
                return
        raise CommandError(f"{path} is being written by others all the time, so nothing was done with it.")

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        name = self._file_path(path)
        found = await self._get(name)
        if found is None:
            raise no_file_error(path)
        if expected is not None and fingerprint_of(found) != expected:
            raise changed_error(path)
        await self.keep_folder(name.rpartition("/")[0])
        try:
            await self.storage.delete(self.key(name), found.etag)
        except ObjectChanged:
            raise changed_error(path) from None

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        name = "/".join(split_path(folder))
        listing = await self.load_listing(name)
        if name and name not in listing.folders:
            (await self.load_listing()).require_folder_path(name)
            raise no_folder_error(folder)
        entries = (FileEntry(path, found.size, found.changed_at) for path, found in sorted(listing.files.items()))
        return tuple(entry for entry in entries if all(map(is_name, entry.path.split("/"))))[:MAX_LISTED_FILES]

    async def fingerprint(self, path: str) -> str:
        """SHA-256 of the content; for a file over the size limit, SHA-256 of its etag."""
        return fingerprint_of(await self._get(self._file_path(path)))

    async def load_listing(self, folder: str = "") -> S3Listing:
        """The objects of the workspace, or of one folder."""
        listing = S3Listing()
        async for found in self.storage.list_objects(self.key(folder)):
            listing.add(found.key.removeprefix(f"{self.folder}/"), found)
        for path in listing.folders & listing.files.keys():
            if not listing.files[path].size:
                del listing.files[path]  # the mark of a folder that another tool made
        return listing

    async def keep_folder(self, path: str) -> None:
        """Make a folder that exists without a file; raise CommandError for a path that cannot be stored."""
        if path:
            self.require_storable(path)
            await self.storage.put(self.key(f"{path}/{FOLDER_MARKER}"), b"")

    def require_storable(self, path: str) -> None:
        """Raise CommandError for a path that is too long for a key, or that no listing in XML can hold."""
        around = (self.storage.bucket.prefix, self.folder, "", FOLDER_MARKER)
        most = MAX_KEY_BYTES - len("/".join(around).encode())
        if len(path.encode()) > most:
            raise CommandError(f"The path is longer than {most} bytes, which the storage of files does not take.")
        if any(letter in path for letter in NOT_IN_XML):
            raise CommandError("The path holds a character that the storage of files does not take.")

    def key(self, path: str) -> str:
        return f"{self.folder}/{path}" if path else self.folder

    async def _write(self, name: str, data: bytes, append: bool, expected: str | None) -> None:
        listing = await self.load_listing()
        listing.require_file_path(name)
        if not append and expected is None:
            listing.require_fits(name, len(data), self.limits)
            await self.storage.put(self.key(name), data)
            return
        found = await self.storage.get(self.key(name), self.limits.file_bytes)
        if expected is not None and fingerprint_of(found) != expected:
            raise ObjectChanged
        kept = found if append else None
        listing.require_fits(name, (kept.size if kept else 0) + len(data), self.limits)
        whole = (kept.content or b"") + data if kept else data
        await self.storage.replace(
            self.key(name), whole, found.etag if found else None, is_program=bool(kept and kept.is_program)
        )

    async def _get(self, name: str) -> StoredObject | None:
        """The object, or None. Raise CommandError if the path is a folder, or if a file is in the way."""
        found = await self.storage.get(self.key(name), self.limits.file_bytes)
        if found is None:
            (await self.load_listing()).require_file_path(name)
        return found

    def _file_path(self, path: str) -> str:
        name = "/".join(split_file_path(path))
        self.require_storable(name)
        return name


@dataclass(frozen=True, slots=True)
class S3Workspaces:
    """Implements `Workspaces`: objects below the id of each root agent."""

    storage: S3Storage
    limits: Limits = LIMITS

    def of(self, agent: Agent) -> S3Files:
        return S3Files(self.storage, folder_name(agent.home), self.limits)

    async def identify(self) -> StorageIdentity:
        """The identity of this part of the bucket, made at the first call; raise StorageAway."""
        text = await self._read_or_make(IDENTITY_NAME, new_identity())
        return StorageIdentity(id=text, place=self.storage.bucket.place)

    async def belong_to(self, database_id: str) -> str:
        """Mark this part of the bucket with the database that its files belong to, unless it is marked.

        Return the id in the mark; raise StorageAway.
        """
        return await self._read_or_make(OWNER_NAME, database_id.encode("ascii"))

    async def trashes(self) -> tuple[S3Files, ...]:
        return await self._each_in(TRASH_FOLDER)

    async def version_stores(self) -> tuple[S3Files, ...]:
        return await self._each_in(VERSIONS_FOLDER)

    async def _each_in(self, beside: str) -> tuple[S3Files, ...]:
        keys = [each.key async for each in self.storage.list_objects(beside)]
        return tuple(
            S3Files(self.storage, "/".join(key)) for key in sorted({tuple(key.split("/")[:2]) for key in keys})
        )

    async def remove(self, agent: WorkspaceOwner) -> None:
        if not agent.head:
            name = folder_name(agent.home)
            for folder in (name, f"{TRASH_FOLDER}/{name}", f"{VERSIONS_FOLDER}/{name}"):
                await self.storage.delete_all([each.key async for each in self.storage.list_objects(folder)])

    async def _read_or_make(self, name: str, text: bytes) -> str:
        """The content of an object beside the workspaces, which is made with this text if it is missing."""
        if (found := await self.storage.get(name, MAX_IDENTITY_BYTES)) is None:
            with suppress(ObjectChanged):
                await self.storage.replace(name, text, None)
            found = await self.storage.get(name, MAX_IDENTITY_BYTES)
        return ((found.content if found else None) or b"").decode("ascii", "replace").strip()


def fingerprint_of(found: StoredObject | None) -> str:
    """The fingerprint of a file, "" if there is none."""
    if found is None:
        return ""
    return content_fingerprint(found.etag.encode() if found.content is None else found.content)
