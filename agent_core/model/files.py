"""Files of an agent's workspace, seen from outside."""

from dataclasses import dataclass
from datetime import datetime

MOST_LISTED = 20_000  # programs can make more files than anybody reads of


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file by its path inside the workspace, with its size in bytes."""

    path: str
    size: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """How a program in the sandbox ended. Its own failure is an exit code, not an error.

    `output` is what it printed, both streams as they came, cut in the middle where it is too long. `ended_because`
    completes "It was ended because …" where a limit ended it.
    """

    exit_code: int
    output: str
    ended_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """A program that an agent left running. `key` names it among the agent's own; no exit code means it runs."""

    key: str
    line: str
    started_at: datetime
    output: str = ""
    exit_code: int | None = None
    ended_because: str = ""
