"""`python -m tests.crash.killer run`: the real program, ended as by a power cut just before or just after a save.

DIES_AT is the number of the save and DIES the moment. A program that comes to its end says how many saves it made.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from agent_core.persistence.write_buffer import WriteBuffer
from bot.__main__ import main


@dataclass(slots=True)
class Killer:
    """Counts the commits that save something, as they begin and as they come to their end."""

    commit: Callable[[WriteBuffer], Awaitable[None]]
    at: int
    moment: str
    begun: int = 0
    made: int = 0

    async def commits(self, buffer: WriteBuffer) -> None:
        """Commit, unless this is the save at which the process dies."""
        if not buffer._writes:
            await self.commit(buffer)
            return
        self.begun += 1
        number = self.begun
        self.reach(number, "before")
        await self.commit(buffer)
        self.made += 1
        self.reach(number, "after")

    def reach(self, number: int, moment: str) -> None:
        """Die, if it is time: no handler runs and nothing is flushed or closed."""
        if (number, moment) == (self.at, self.moment):
            os.kill(os.getpid(), signal.SIGKILL)


def run(environ: Mapping[str, str]) -> int:
    """The command line, with a killer in it."""
    killer = Killer(WriteBuffer.commit, int(environ["DIES_AT"]), environ["DIES"])

    async def commit(buffer: WriteBuffer) -> None:
        await killer.commits(buffer)

    setattr(WriteBuffer, "commit", commit)  # noqa: B010 (mypy would have it no other way)
    code = main()
    sys.stdout.write(f"It made {killer.made} saves.\n")
    return code


if __name__ == "__main__":
    sys.exit(run(os.environ))
