"""The folder of this machine in which one program runs: the workspace itself, or a copy of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.providers.workspace.folder_workspace import FolderFiles
from agent_core.providers.workspace.workspace_paths import Limits


@dataclass(slots=True)
class LentFolder:
    """A folder for one program. `lender` is None if it is the workspace itself. `note`: what `give_back` returned."""

    files: FolderFiles
    lender: "FolderLender | None" = None
    note: str = ""
    is_given_back: bool = False

    async def give_back(self) -> str:
        """Save what the program changed. Return sentences on files that are not where it wrote them, or ""."""
        if self.lender and not self.is_given_back:
            self.is_given_back = True
            self.note = await self.lender.take_back(self.files.folder.name)
        return self.note


class FolderLender(Protocol):
    """Lends folders with copies of workspaces that are not in folders of this machine, below `root`."""

    root: Path

    @property
    def limits(self) -> Limits:
        """The limits of each workspace."""

    async def lend(self, agent: Agent) -> LentFolder:
        """The agent's files as they are now; raise CommandError if they cannot be had."""

    async def take_back(self, name: str) -> str:
        """Save what a program changed in the workspace of that name; return as `LentFolder.give_back`."""
