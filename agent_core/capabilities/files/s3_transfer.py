"""Reads the files of all workspaces on S3-compatible storage, and restores them there. Blocking."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO

from agent_core.capabilities.files.s3_storage import S3Storage, StoredObject, attributes_of, described
from agent_core.capabilities.files.s3_storage import translate_storage_errors as translate
from agent_core.capabilities.files.s3_workspace import FOLDER_MARKER, S3Files
from agent_core.capabilities.files.workspace_paths import DAMAGED, OWNER_NAME, folders_above, is_name, is_own_name
from agent_core.capabilities.files.workspace_transfer import WorkspaceFile
from agent_core.errors import CommandError, TransferRefused


@dataclass(slots=True)
class S3WorkspaceTransfer:
    """Implements `StoredFiles`. S3 sets the times of files itself, so that restored files have new ones."""

    storage: S3Storage
    left_out: list[str] = field(default_factory=list)

    def files(self) -> Iterator[WorkspaceFile]:
        """All folders and files, each folder before its content; raise TransferRefused."""
        known = set[str]()
        for key in self._keys():
            for folder in folders_above(key):
                if folder not in known:
                    known.add(folder)
                    yield WorkspaceFile(path=folder)
            if key.rpartition("/")[2] != FOLDER_MARKER and (found := self._get(key)):
                content = BytesIO(found.content or b"")
                modified = int(found.changed_at.timestamp()) * 10**9
                yield WorkspaceFile(path=key, content=content, is_program=found.is_program, modified=modified)

    def restore(self, file: WorkspaceFile) -> None:
        """Store a file or make a folder; raise TransferRefused if that is not possible."""
        folder, _, name = file.path.partition("/")
        if file.content is None and not name:
            return  # the workspace itself
        key = f"{file.path}/{FOLDER_MARKER}" if file.content is None else file.path
        data = file.content.read() if file.content else b""
        try:
            S3Files(self.storage, folder).require_storable(key.partition("/")[2])
            with translate():
                self.storage.store.put(key, data, attributes=attributes_of("", file.is_program), use_multipart=False)
        except CommandError as fault:
            raise TransferRefused(f"{file.path} cannot be written: {fault}") from fault

    def holds(self, path: str, digest: str) -> bool:
        """Whether a file with this SHA-256 is there; raise TransferRefused if something else is there."""
        if (found := self._get(path)) is None:
            return False
        if sha256(found.content or b"").hexdigest() != digest:
            raise TransferRefused(f"{path} is there already with other content.")
        return True

    def workspace_names(self) -> set[str]:
        """The names of the folders of all workspaces; raise TransferRefused."""
        names = {key.partition("/")[0] for key in self._keys()}
        self.left_out.clear()  # `files` notes them
        return names

    def read_owner(self) -> str:
        found = self._get(OWNER_NAME)
        return (found.content or b"").decode("ascii", "replace").strip() or DAMAGED if found else ""

    def release(self) -> None:
        try:
            with translate(), suppress(FileNotFoundError):
                self.storage.store.delete(OWNER_NAME)
        except CommandError as fault:
            raise TransferRefused(str(fault)) from fault

    def folds_names(self) -> bool:
        """Always False: keys that differ in case are different objects."""
        return False

    def _keys(self) -> Iterator[str]:
        try:
            with translate():
                for chunk in self.storage.store.list(chunk_size=1_000):
                    for key in (meta["path"] for meta in chunk):
                        if is_own_name(key.partition("/")[0]):
                            continue
                        if "/" in key and all(is_name(part) or part == FOLDER_MARKER for part in key.split("/")):
                            yield key
                        else:
                            self.left_out.append(key)
        except CommandError as fault:
            raise TransferRefused(str(fault)) from fault

    def _get(self, key: str) -> StoredObject | None:
        try:
            with translate():
                try:
                    found = self.storage.store.get(key)
                except FileNotFoundError:
                    return None
                return described(found, bytes(found.bytes()))
        except CommandError as fault:
            raise TransferRefused(str(fault)) from fault
