"""Joins the language model, token counters, embedder and vector index that the settings choose.

Part of the composition root, like `bot.bootstrap`. Modules are imported only if a setting needs them.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from adapters.typed.agent_templates import AgentTemplates, load_templates
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.memory.capability import make_embedder, make_index
from agent_core.capabilities.models.capability import make_counters, make_model
from agent_core.capabilities.models.prices import load_price_list
from agent_core.capabilities.models.settings import MODEL_LINES
from agent_core.ports.database import Database
from agent_core.ports.models import Embedder, LanguageModel, MemoryIndex, Rehearsal, TokenCounters
from bot.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The language model and the parts for memory. `rehearsal` is set in demo mode only."""

    model: LanguageModel
    tokens: TokenCounters
    embedder: Embedder
    index: MemoryIndex
    rehearsal: Rehearsal | None = None

    @classmethod
    def of(cls, settings: Settings, database: Database) -> "Models":
        """Build the parts that the settings choose. A detected model server is not used: `doctor` only offers it."""
        model = make_model(settings, demo_model)
        return cls(
            model=model,
            tokens=make_counters(settings, settings.tokenizers),
            embedder=make_embedder(settings),
            index=make_index(settings, database, settings.home),
            rehearsal=model if isinstance(model, RehearsalModel) else None,
        )

    async def prepare(self) -> None:
        """Load what a thought needs, and detect the default model, so that the first turn does not wait for them."""
        for each, arguments in ((self.model, ()), (self.tokens, (self.model.default_model,))):
            if prepare := getattr(each, "prepare", None):
                await prepare(*arguments)
        if self.rehearsal is None:
            await asyncio.to_thread(load_price_list)

    async def prepare_memory(self) -> None:
        """Load an embedder of this machine, so that the first recall does not wait for it."""
        if prepare := getattr(self.embedder, "prepare", None):
            await prepare()

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for each in (self.model, self.embedder, self.index):
                if close := getattr(each, "close", None):
                    stack.push_async_callback(close)


def choose_templates(settings: Settings) -> AgentTemplates:
    """The templates for new agents: in demo mode those that its script can carry out, and the operator's."""
    return load_templates(settings.templates_dir, None if settings.has_endpoint else demo_model())


def demo_model() -> RehearsalModel:
    """The scripted model of demo mode."""
    return RehearsalModel(MODEL_LINES)
