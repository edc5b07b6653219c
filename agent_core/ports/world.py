"""The machine and what is outside it: time, files, programs, the web."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry


class Clock(Protocol):
    """Tells the time and waits; nothing else in the core does."""

    def now(self) -> datetime:
        """The present as an aware datetime in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that time, or when cancelled."""
        ...


class Files(Protocol):
    """One agent's workspace. Paths are relative with `/`; one that leads out raises OutsideWorkspace.

    Links, devices and pipes are never followed, also not when they were put there between a check and a use.
    Every other fault (no such file, a folder, over the quota) raises CommandError with a sentence for the model.
    """

    async def read(self, path: str) -> bytes:
        """The whole file."""
        ...

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        """Replace or extend the file, making its folders; a reader never sees half of a replacement.

        Raise CommandError, and write nothing, where `expected` is not its fingerprint right before.
        """
        ...

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        """Remove the file; raise CommandError where `expected` is not its fingerprint right before."""
        ...

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Every file in the folder and below, by path; no more than MOST_LISTED of them."""
        ...

    async def fingerprint(self, path: str) -> str:
        """A digest of the file's content, or "" when there is none."""
        ...


class Workspaces(Protocol):
    """The workspaces of all agents."""

    def of(self, agent: Agent) -> Files:
        """The agent's own, made when first written to; a helper works in that of the agent it helps."""
        ...

    async def remove(self, agent: Agent) -> None:
        """Delete it with all its files; nothing for a helper, whose files are not its own."""
        ...


@dataclass(frozen=True, slots=True)
class WebHit:
    """One thing that a search of the web found."""

    title: str
    url: str
    text: str


class Search(Protocol):
    """Searches the web."""

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Up to `most` hits, best first; raise CommandError with a sentence for the model, without a key."""
        ...
