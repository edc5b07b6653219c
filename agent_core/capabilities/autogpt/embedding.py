"""Implements `AgentEmbedders` by `handle_text_embedding` of AutoGPT's plugins, and checks the vectors that they give.

As in AutoGPT the first plugin that can handle a text gives its vector. Vectors have an index key of their own, in which
the plugin and its dimension are named, so they are never compared with others.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.capabilities.autogpt.autogpt_plugin import AutoGptPlugin
from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_paths import LIMITS
from agent_core.capabilities.memory.unit_vectors import truncate, unit_vectors
from agent_core.errors import CommandError, MemoryAway
from agent_core.model.agent import Agent
from agent_core.model.records.memory import Vector
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.toolset.registry import CommandContext

TEXT_EMBEDDING = "text_embedding"
TEXTS_PER_REQUEST, MAX_TEXT_CHARACTERS, MAX_DIMENSION, MAX_TITLE = 8, 8_000, 4_096, 100
SOME_ONLY = "it handles some texts only"


@dataclass(frozen=True, slots=True)
class AutoGptEmbedders:
    """Implements `AgentEmbedders`. `keys`: what plugins are not told. `dimensions`: of those that embedded."""

    plugins: Sequence[AutoGptPlugin]
    keys: Secrets = NO_SECRETS
    dimensions: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._name(each) for each in self._usable() if each.found.kind.name in self.dimensions)

    async def find_name(self, agent: Agent) -> str:
        for plugin in self._usable():
            if plugin.found.kind.name in self.dimensions and await _is_on(plugin, agent):
                return self._name(plugin)
        return ""

    async def embed(self, agent: Agent, texts: Sequence[str]) -> tuple[str, tuple[Vector, ...]] | None:
        for plugin in self._usable():
            try:
                vectors = await self._embed_by(plugin, agent, texts)
            except (CommandError, OSError) as away:
                raise MemoryAway(f"The plugin {plugin.found.title} cannot embed now.") from away
            if vectors:
                return self._name(plugin), vectors
        return None

    async def _embed_by(self, plugin: AutoGptPlugin, agent: Agent, texts: Sequence[str]) -> tuple[Vector, ...]:
        """A vector for each text; () if the plugin is off for the agent, does not handle the texts, or failed."""
        known, context = self.dimensions.get(plugin.found.kind.name, 0), _context(plugin, agent)
        rows: list[list[float]] = []
        for start in range(0, len(texts), TEXTS_PER_REQUEST):
            part = texts[start : start + TEXTS_PER_REQUEST]
            told = [truncate(self.keys.redact(each), MAX_TEXT_CHARACTERS) for each in part]
            value = await plugin.ask_hook(TEXT_EMBEDDING, [told], context)
            if value is None:
                if (rows or known) and plugin.has(TEXT_EMBEDDING) and await _is_on(plugin, agent):
                    plugin.leave_out(TEXT_EMBEDDING, CommandError(SOME_ONLY))
                return ()
            try:
                rows += checked_rows(value, len(part), known or _width(rows))
            except ValueError as wrong:
                plugin.leave_out(TEXT_EMBEDDING, CommandError(str(wrong)))
                return ()
        return await self._finish(plugin, rows)

    async def _finish(self, plugin: AutoGptPlugin, rows: list[list[float]]) -> tuple[Vector, ...]:
        try:
            vectors = await asyncio.to_thread(unit_vectors, rows)
        except ValueError:
            plugin.leave_out(TEXT_EMBEDDING, CommandError("a vector of it is zero, or too long to be measured"))
            return ()
        self.dimensions.setdefault(plugin.found.kind.name, len(rows[0]))
        return vectors

    def _name(self, plugin: AutoGptPlugin) -> str:
        title = plugin.found.kind.name
        return f"plugin {title[:MAX_TITLE]} of AutoGPT, {self.dimensions[title]} numbers"

    def _usable(self) -> list[AutoGptPlugin]:
        return [each for each in self.plugins if each.has(TEXT_EMBEDDING)]


def checked_rows(value: object, number: int, dimension: int) -> list[list[float]]:
    """The vectors of so many texts; raise ValueError with a phrase that says what is wrong.

    `dimension`: that of the plugin's vectors so far, 0 if there is none.
    """
    if not isinstance(value, list) or len(value) != number:
        raise ValueError("it gave another number of vectors than of texts")
    for row in value:
        if not isinstance(row, list) or not 0 < len(row) <= MAX_DIMENSION:
            raise ValueError(f"a vector of it has not 1 to {MAX_DIMENSION:,} numbers")
        if not all(isinstance(each, float) and math.isfinite(each) for each in row):
            raise ValueError("a vector of it has something else than finite numbers")
    widths = {len(row) for row in value} | ({dimension} if dimension else set())
    if len(widths) > 1:
        raise ValueError("its vectors have several dimensions")
    return value


def _width(rows: list[list[float]]) -> int:
    return len(rows[0]) if rows else 0


async def _is_on(plugin: AutoGptPlugin, agent: Agent) -> bool:
    return await plugin.is_on(plugin.found.kind.name, _context(plugin, agent))


def _context(plugin: AutoGptPlugin, agent: Agent) -> CommandContext:
    """The agent for its worker, which has the agent's folder; no file is used by this process."""
    return CommandContext(agent=agent, files=FolderFiles(plugin.pool.workspaces.root / ".none", LIMITS))
