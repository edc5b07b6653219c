"""Limits of programs and the user that they run as; the protocols of a sandbox backend and of its process."""

import os
from asyncio import StreamReader
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from agent_core.errors import CommandError
from agent_core.ports.sandbox import NOTHING_SEALED

CORE_BYTES = 1  # not 0: a core piped to a program ignores every limit except 1, core(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """Resource limits of a program. Sizes of files and of the workspace are limited by the workspace's `Limits`.

    `memory_bytes`: the address space of each process, and the memory of the whole process tree.
    `scratch_bytes`: the size of `/tmp`, and that of `/dev/shm`.
    `deleted_files`: how many deleted files a program may hold open.
    `background`, `programs`: the most background programs of one agent, and of all agents together.
    """

    memory_bytes: int = 1_500_000_000
    processor_seconds: int = 300
    processes: int = 64
    open_files: int = 256
    scratch_bytes: int = 100_000_000
    scratch_files: int = 10_000
    deleted_files: int = 40
    output_bytes: int = 10_000_000
    background_seconds: float = 3600.0
    background: int = 4
    programs: int = 16

    def rlimits(self, file_bytes: int) -> dict[str, object]:
        """Limits that the kernel enforces for each process, by their names in options of prlimit and Docker."""
        processor_seconds = f"{self.processor_seconds}:{self.processor_seconds + 1}"
        return {"core": CORE_BYTES, "cpu": processor_seconds, "fsize": file_bytes, "nofile": self.open_files}


LIMITS = ProgramLimits()
FIRST_USER, USER_COUNT = 60_578, 605  # unassigned uids: https://systemd.io/UIDS-GIDS
BROWSER_USER = FIRST_USER + USER_COUNT


class NotStarted(CommandError):
    """The sandbox could not be started, so nothing was run. The operator finds the reason in the log."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(" ".join((self.__doc__ or "").split()))


def user_for(name: str) -> int | None:
    """The uid for programs in the workspace folder of that name, if Signoff runs as root; else None.

    The uid is derived from the name, so that programs of different agents share no per-user limit and no file
    permission. All backends use the same uid, so that workspaces stay usable if the operator changes the backend.
    """
    if os.geteuid():
        return None
    return FIRST_USER + int.from_bytes(sha256(name.encode()).digest()[:4]) % USER_COUNT


class SandboxedProcess(Protocol):
    """A running process in the sandbox."""

    @property
    def output(self) -> StreamReader:
        """Stdout and stderr, interleaved."""

    async def wait_ended(self) -> int:
        """Wait for the end and return the exit code; 128 plus the signal number if a signal ended it."""

    async def kill(self) -> None:
        """Kill the whole process tree and wait until it is gone. Does nothing if it has ended."""

    def end_reason(self) -> str:
        """Why the system ended the program, to complete "It was ended because …"; "" if unknown."""

    def exceeded_limit(self) -> str:
        """The limit that the program exceeds now, to complete "It was ended because …"; "" if none. Blocking."""


class SandboxBackend(Protocol):
    """Starts programs in isolation: bubblewrap or Docker."""

    async def find_missing(self) -> str:
        """What is missing and what to do, to complete "The sandbox cannot be used, as …"; "" if nothing is missing."""

    async def start(
        self, argv: Sequence[str], folder: Path, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> SandboxedProcess:
        """Start a program with the folder as `/workspace` and the sealed files read-only below `/sealed`.

        Raise CommandError if that fails.
        """
