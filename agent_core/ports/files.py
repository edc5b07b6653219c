"""The workspace ports: one agent's files, and the workspaces of all agents."""

from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId


class Files(Protocol):
    """One agent's workspace. Paths are relative with `/`; a path traversal raises OutsideWorkspace.

    Symlinks are never followed, and devices and pipes never opened, even if they are created between a check and a use.
    Every other fault (no such file, a folder, over the quota) raises CommandError with a sentence for the model.
    """

    @property
    def trash(self) -> "Files":
        """Where deleted files are kept: out of the reach of the agent and its programs, and counted by itself."""

    @property
    def versions(self) -> "Files":
        """Where `toolset.versions` keeps what the files were before a command; as the trash, out of reach."""

    async def read(self, path: str) -> bytes:
        """The file's content."""

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        """Replace the file atomically, or append to it; parent folders are created.

        Raise CommandError, and write nothing, if `expected` is given and is not the file's fingerprint.
        """

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        """Delete the file; raise CommandError if `expected` is given and is not the file's fingerprint."""

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        """All files below the folder at any depth, sorted by path; at most MAX_LISTED_FILES."""

    async def fingerprint(self, path: str) -> str:
        """A digest that changes when the file's content changes, or "" if the file does not exist."""


class WorkspaceOwner(Protocol):
    """An agent, or what is left of a deleted one. `home` is its root agent, `head` too, but None for a root agent."""

    @property
    def head(self) -> AgentId | None:
        """The root agent that a helper works for."""

    @property
    def home(self) -> AgentId:
        """The agent whose workspace it is."""


class Workspaces(Protocol):
    """Gives access to the workspaces of all agents."""

    def of(self, agent: Agent) -> Files:
        """The agent's workspace, created at the first write. A helper uses the workspace of its root agent."""

    async def trashes(self) -> tuple[Files, ...]:
        """The trash of each workspace that has one."""

    async def version_stores(self) -> tuple[Files, ...]:
        """The versions of each workspace that has some."""

    async def remove(self, agent: WorkspaceOwner) -> None:
        """Delete the workspace with all its files, its trash and its versions.

        Does nothing for a helper, and if there is no workspace. Raise CommandError if it cannot be deleted.
        """
