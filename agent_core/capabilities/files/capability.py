"""The feature of files: offers the commands on agents' files; tells the doctor whether readers can be confined."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent_core.capabilities.capability import Capability, CommandParts, Finding
from agent_core.capabilities.files.commands import FileCommands
from agent_core.ports.documents import Documents
from agent_core.toolset.registry import Command


@dataclass(frozen=True, kw_only=True)
class FileCapability(Capability):
    """`readers_fault`: returns why what reads documents, pages and pictures cannot be confined, or ""."""

    name = "files"
    documents: Documents
    readers_fault: Callable[[], str]

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return FileCommands(self.documents).commands

    async def findings(self) -> Iterable[Finding]:
        fault = self.readers_fault()
        if not fault:
            why = "read in processes without network, files and environment"
            return (Finding(name="documents", state="on", why=why),)
        refused = "PDF, Word and OpenDocument are refused, since Signoff runs as root. Pages and pictures"
        read = refused if os.geteuid() == 0 else "Documents, pages and pictures"
        why = f"{read} are read by processes that are not confined: {fault}"
        return (Finding(name="documents", state="warn", why=why.rstrip(".")),)
