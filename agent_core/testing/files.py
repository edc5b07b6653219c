"""Implements the workspace ports in memory, for tests: files and folders without symlinks."""

from dataclasses import dataclass, field
from datetime import datetime

from agent_core.capabilities.files.workspace_paths import (
    LIMITS,
    Limits,
    changed_error,
    is_file_error,
    is_folder_error,
    no_file_error,
    no_folder_error,
    require_fits,
    split_file_path,
    split_path,
)
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry, content_fingerprint
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.files import WorkspaceOwner
from agent_core.testing.clock import FakeClock


@dataclass(slots=True)
class InMemoryFiles:
    """See `Files` in the ports. It has no symlinks, devices or pipes."""

    limits: Limits = LIMITS
    clock: Clock = field(default_factory=FakeClock)
    contents: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    _trash: "InMemoryFiles | None" = None
    _versions: "InMemoryFiles | None" = None

    @property
    def trash(self) -> "InMemoryFiles":
        self._trash = self._trash or InMemoryFiles(clock=self.clock)
        return self._trash

    @property
    def versions(self) -> "InMemoryFiles":
        self._versions = self._versions or InMemoryFiles(clock=self.clock)
        return self._versions

    async def read(self, path: str) -> bytes:
        return self.contents[self._existing(path)][0]

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        name = self._file(path)
        await self._check(path, expected)
        whole = self._data(name) + data if append else data
        others = [len(content) for other, (content, _) in self.contents.items() if other != name]
        require_fits(path, size=len(whole), other_bytes=sum(others), other_files=len(others), limits=self.limits)
        self.contents[name] = whole, self.clock.now()
        self.folders |= {"", *_parent_folders(name)}

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        await self._check(path, expected)
        del self.contents[self._existing(path)]

    async def list_files(self, folder: str = "") -> tuple[FileEntry, ...]:
        name = "/".join(split_path(folder))
        self._require_folders(*_parent_folders(name), name)
        if name and name not in self.folders:
            raise no_folder_error(folder)
        within = f"{name}/" if name else ""
        return tuple(
            FileEntry(path, len(data), changed_at)
            for path, (data, changed_at) in sorted(self.contents.items())
            if path.startswith(within)
        )

    async def fingerprint(self, path: str) -> str:
        name = self._file(path)
        return content_fingerprint(self._data(name)) if name in self.contents else ""

    async def _check(self, path: str, expected: str | None) -> None:
        if expected is not None and await self.fingerprint(path) != expected:
            raise changed_error(path)

    def _data(self, name: str) -> bytes:
        return self.contents[name][0] if name in self.contents else b""

    def _existing(self, path: str) -> str:
        name = self._file(path)
        if name not in self.contents:
            raise no_file_error(path)
        return name

    def _file(self, path: str) -> str:
        name = "/".join(split_file_path(path))
        self._require_folders(*_parent_folders(name))
        if name in self.folders:
            raise is_folder_error(path)
        return name

    def _require_folders(self, *names: str) -> None:
        for name in names:
            if name in self.contents:
                raise is_file_error(name)


@dataclass(slots=True)
class InMemoryWorkspaces:
    """See `Workspaces` in the ports."""

    limits: Limits = LIMITS
    clock: Clock = field(default_factory=FakeClock)
    by_agent: dict[AgentId, InMemoryFiles] = field(default_factory=dict)

    def of(self, agent: Agent) -> InMemoryFiles:
        return self.by_agent.setdefault(agent.home, InMemoryFiles(self.limits, self.clock))

    async def trashes(self) -> tuple[InMemoryFiles, ...]:
        return tuple(files.trash for files in self.by_agent.values())

    async def version_stores(self) -> tuple[InMemoryFiles, ...]:
        return tuple(files.versions for files in self.by_agent.values())

    async def remove(self, agent: WorkspaceOwner) -> None:
        """Delete the workspace. A Files object that `of` returned for it before is empty afterwards."""
        removed = InMemoryFiles() if agent.head else self.by_agent.pop(agent.home, InMemoryFiles())
        removed.contents.clear()
        removed.folders.clear()


def _parent_folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
