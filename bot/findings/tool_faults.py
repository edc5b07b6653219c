"""Faults that plugins and tool servers have while Signoff runs: saved in the data folder, for `signoff doctor`."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.screens.visible_text import visible
from agent_core.capabilities.capability import Finding
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import ListSources, ToolSource
from agent_core.text.lines import one_line
from bot.settings import Settings

logger = logging.getLogger(__name__)
FILE = "tool-faults.json"
LOOK_SECONDS = 5.0
MAX_SOURCES, MAX_FAULT_CHARACTERS, MAX_FILE_BYTES = 100, 400, 500_000
SERVER = "tool server"  # is connected after the start, and lists its tools then
UNDECIDED = ("connecting", "closed")  # a server that is being connected or was ended: what is saved stays
CONDITIONS = ("away: ", "connecting: ")


@dataclass(slots=True, kw_only=True)
class ToolFaults:
    """Keeps the file. `known`: the remarks of each source as it began to work, which the doctor finds by itself."""

    path: Path
    list_sources: ListSources
    clock: Clock
    known: dict[str, frozenset[str]] = field(default_factory=dict)
    _written: Mapping[str, Mapping[str, str]] | None = None

    async def run(self) -> None:
        """Look at the sources every few seconds, until cancelled; the file is written when something changed."""
        self.known = {each.name: frozenset(each.remarks) for each in self.list_sources() if each.kind != SERVER}
        while True:
            with suppress(OSError):
                await self.save()
            await self.clock.sleep(LOOK_SECONDS)

    async def save(self) -> None:
        """Write the newest fault of each source that has one; those of sources that work again are taken out."""
        sources, before = self.list_sources(), self._written
        if before is None:
            before = await asyncio.to_thread(read_faults, self.path)
        now = {each.name: told for each in sources[:MAX_SOURCES] if (told := self._told(each, before.get(each.name)))}
        if now != before or self._written is None:
            await asyncio.to_thread(_write, self.path, now)
        self._written = now

    def _told(self, source: ToolSource, before: Mapping[str, str] | None) -> Mapping[str, str] | None:
        if source.fault in UNDECIDED:
            return before
        fault = source.fault
        if not fault:
            self.known.setdefault(source.name, frozenset(source.remarks))
        for condition in CONDITIONS:
            fault = fault.removeprefix(condition)
        remarks = [each for each in source.remarks if each not in self.known.get(source.name, frozenset())]
        text = one_line(visible("; ".join(filter(None, (fault, *remarks)))), MAX_FAULT_CHARACTERS)
        if not text:
            return None
        if before and before.get("fault") == text:
            return before
        return {"kind": source.kind, "fault": text, "at": self.clock.now().strftime("%Y-%m-%d %H:%M UTC")}


@asynccontextmanager
async def faults_kept(settings: Settings, list_sources: ListSources, clock: Clock) -> AsyncIterator[None]:
    """Keep the file while this process runs; without plugins and servers nothing is done."""
    if not settings.has_plugins and not settings.mcp_servers:
        yield
        return
    faults = ToolFaults(path=settings.home / FILE, list_sources=list_sources, clock=clock)
    keeping = asyncio.create_task(faults.run(), name="faults of tools")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


def faults_finding(settings: Settings) -> Finding | None:
    """The finding on faults that a running Signoff met, or the last one that ran; None if there are none."""
    if not settings.has_plugins and not settings.mcp_servers:
        return None
    found = read_faults(settings.home / FILE)
    told = [f"{each['kind']} {name}: {each['fault']} (since {each['at']})" for name, each in found.items()]
    if not told:
        return None
    why = f"while Signoff ran: {'; '.join(told)}"
    return Finding(name="tool faults", state="warn", why=why)


def read_faults(path: Path) -> Mapping[str, Mapping[str, str]]:
    """The saved faults by source; none if there is no such file, or if it is not one of Signoff's."""
    try:
        with path.open("rb") as opened:
            given = json.loads(opened.read(MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: each for name, each in given.items() if _is_fault(each)} if isinstance(given, dict) else {}


def _is_fault(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(given.get(name), str) for name in ("kind", "fault", "at"))


def _write(path: Path, faults: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the file at once, so that a reader never meets half of it; without faults there is none."""
    if not faults:
        path.unlink(missing_ok=True)
        return
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(faults))
    fresh.chmod(0o600)
    fresh.replace(path)
