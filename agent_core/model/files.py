"""Files of an agent's workspace, seen from outside."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file by its path inside the workspace, with its size in bytes."""

    path: str
    size: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """How a program in the sandbox ended. Its own failure is an exit code, not an error."""

    exit_code: int
    output: str
    ended_because: str = ""
