"""What every kind of sandbox agrees on: the limits of a program, and how one is shut in, watched and ended."""

import os
from asyncio import StreamReader
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from agent_core.errors import CommandError
from agent_core.ports.sandbox import NOTHING_SEALED


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """What a program may use; how long a file may be and how much a workspace holds is said by its own limits.

    `memory_bytes` is the most of one process's address space and of a whole tree's memory. `scratch_bytes` is the
    size of `/tmp` and of `/dev/shm`, `deleted_files` how many a program may hold that its workspace does not show any
    more, `programs` how many may be left running for all agents together.
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


LIMITS = ProgramLimits()
FIRST_USER, USERS = 60_578, 605  # given to nobody: https://systemd.io/UIDS-GIDS
BROWSER_USER = FIRST_USER + USERS


class NotStarted(CommandError):
    """The sandbox could not be started, so nothing was run. The operator finds the reason in the log."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(" ".join((self.__doc__ or "").split()))


def user_for(name: str) -> int | None:
    """The user that programs in the workspace's folder of that name run as, where root starts them; else None.

    One for each workspace, as far as they go, so that programs of two agents share no limit and no right.
    """
    if os.geteuid():
        return None
    return FIRST_USER + int.from_bytes(sha256(name.encode()).digest()[:4]) % USERS


class SandboxedProcess(Protocol):
    """A program that runs shut in."""

    @property
    def output(self) -> StreamReader:
        """Both streams, as they come."""
        ...

    async def wait_ended(self) -> int:
        """Wait until the program ends by itself and give its exit code; 128 and the signal where one ended it."""
        ...

    async def kill(self) -> None:
        """End the whole tree: nothing of it runs any more when this returns. It may have ended already."""
        ...

    def fate(self) -> str:
        """What the system did to it, to complete "It was ended because …"; "" when that is not known. Asked once."""
        ...

    def excess(self) -> str:
        """What it uses too much of now, to complete "It was ended because …"; blocking, and "" when nothing."""
        ...


class SandboxBackend(Protocol):
    """A way of shutting programs in."""

    async def find_missing(self) -> str:
        """What keeps it from working on this machine, as a sentence that says what to do; "" when nothing does."""
        ...

    def owner_of(self, name: str) -> int | None:
        """The user that programs in the workspace's folder of that name run as, where that is not this process's."""
        ...

    async def enter(
        self, argv: Sequence[str], folder: Path, sealed: Mapping[str, bytes] = NOTHING_SEALED
    ) -> SandboxedProcess:
        """Start a program that sees the folder as `/workspace`, and below `/sealed` these files read-only.

        Raise CommandError when that cannot be done.
        """
        ...
