"""Values of workspace files: entries, the trash, the storage's identity; and of programs that ran or run."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Self

DATABASE_ID = "database id"  # the key of the preference with the id of the database, which marks files as its own
TRASH_DAYS = 30  # deleted files are kept for so long
TRASH_DIGITS = 16  # of a deleted file's fingerprint, with which its name in the trash begins
MAX_LISTED_FILES = 20_000  # programs can create more files than a person or model reads


def content_fingerprint(data: bytes) -> str:
    """The fingerprint of a file with this content: SHA-256, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file's path inside the workspace, its size in bytes, and when it changed."""

    path: str
    size: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFile:
    """A file in the trash: its name there, the path that it had, its size, and when it was deleted."""

    key: str
    path: str
    size: int
    deleted_at: datetime

    @classmethod
    def of(cls, entry: FileEntry) -> Self:
        """The deleted file of an entry of the trash."""
        return cls(key=entry.path, path=entry.path[TRASH_DIGITS + 1 :], size=entry.size, deleted_at=entry.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """How a program in the sandbox ended. A program that fails has an exit code; no exception is raised.

    `output`: stdout and stderr in order, with the middle cut out if too long.
    `ended_because`: the exceeded limit, to complete the sentence "It was ended because …".
    """

    exit_code: int
    output: str
    ended_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """A program that an agent left running. `key` is its id for the agent; `exit_code` is None while it runs."""

    key: str
    line: str
    started_at: datetime
    output: str = ""
    exit_code: int | None = None
    ended_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageIdentity:
    """Where workspaces are: a random `id` that is kept with the files, and the `place` in words for people."""

    id: str
    place: str
