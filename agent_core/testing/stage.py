"""All of Signoff on test doubles: services, views, loop and engine over one in-memory database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agent_core.assembly import CommandParts, Core, CoreOptions, CorePorts
from agent_core.commands.files import FILE_COMMANDS
from agent_core.commands.finish import FINISH_COMMANDS
from agent_core.commands.history import HistoryCommands
from agent_core.commands.memory import MemoryCommands
from agent_core.commands.registry import Commands
from agent_core.engines.local import LocalEngine
from agent_core.loop.advance import AgentLoop
from agent_core.loop.command_runner import Hook
from agent_core.loop.summarising import MAX_HISTORY_TOKENS
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.actors import Actor, Origin
from agent_core.model.agent import Agent
from agent_core.model.decision import Decision
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.files import Workspaces
from agent_core.ports.models import Embedder, LanguageModel, MemoryIndex
from agent_core.ports.surface import ChatSurface
from agent_core.prompt.model_client import MeteredModel
from agent_core.prompt.profiles import ProfileName
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.agents import AgentService
from agent_core.service.drafting import AgentDrafting
from agent_core.service.helpers import AgentHelpers
from agent_core.service.memories import AgentMemories
from agent_core.service.self_review import SelfReview
from agent_core.service.views import AgentViews
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import InMemoryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.surface import RecordingSurface

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Stage:
    """Signoff on doubles. A test can replace any port; `run` keeps the engine running inside a with-block."""

    model: LanguageModel = field(default_factory=ScriptedModel)
    database: Database = field(default_factory=InMemoryDatabase)
    surface: ChatSurface = field(default_factory=RecordingSurface)
    workspaces: Workspaces = field(default_factory=InMemoryWorkspaces)
    clock: Clock = field(default_factory=FakeClock)
    commands: Commands = field(default_factory=lambda: Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS))
    embedder: Embedder = field(default_factory=WordEmbedder)
    index: MemoryIndex = field(default_factory=InMemoryIndex)
    hooks: tuple[Hook, ...] = ()
    fast_model: str = ""
    history_tokens: int = MAX_HISTORY_TOKENS
    profile: ProfileName = "auto"
    core: Core = field(init=False)
    engine: LocalEngine = field(init=False)
    loop: AgentLoop = field(init=False)
    service: AgentService = field(init=False)
    views: AgentViews = field(init=False)
    helpers: AgentHelpers = field(init=False)
    agent_settings: AgentSettings = field(init=False)
    memories: AgentMemories = field(init=False)
    review: SelfReview = field(init=False)
    memory: LongTermMemory = field(init=False)
    ledger: BudgetLedger = field(init=False)
    metered_model: MeteredModel = field(init=False)
    drafting: AgentDrafting = field(init=False)

    def __post_init__(self) -> None:
        core = self.core = Core.assemble(
            CorePorts(
                database=self.database,
                model=self.model,
                index=self.index,
                surfaces=(self.surface,),
                workspaces=self.workspaces,
                clock=self.clock,
                embedder=self.embedder,
            ),
            self._commands,
            CoreOptions(
                fast_model=self.fast_model,
                profile=self.profile,
                history_tokens=self.history_tokens,
                hooks=self.hooks,
            ),
        )
        self.commands, self.engine, self.loop, self.memory = core.commands, core.engine, core.loop, core.memory
        self.service, self.views, self.helpers = core.service, core.views, core.helpers
        self.agent_settings, self.memories, self.review = core.agent_settings, core.memories, core.review
        self.ledger, self.metered_model, self.drafting = core.ledger, core.metered_model, core.drafting

    def _commands(self, parts: CommandParts) -> Commands:
        recall = (*MemoryCommands(parts.memory, parts.clock).commands, *HistoryCommands(parts.database).commands)
        return Commands.of(*self.commands.by_name.values(), *recall)

    @property
    def shown(self) -> RecordingSurface:
        return _require_kind(RecordingSurface, self.surface)

    @property
    def fake_clock(self) -> FakeClock:
        return _require_kind(FakeClock, self.clock)

    @property
    def script(self) -> ScriptedModel:
        return _require_kind(ScriptedModel, self.model)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.engine.run(self.loop.advance))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def origin(self, by: Actor = ANA, delivery: str | None = None) -> Origin:
        return Origin(by=by, channel=CHANNEL, delivery=delivery)

    async def create(self, *goals: str, **draft: Any) -> Agent:
        """Create an agent of Ana, and advance it until it asks people or is at rest."""
        agent = await self.service.create(
            AgentDraft(name="Clerk", goals=goals or ("Write a file",), **draft), self.origin()
        )
        return await self.wait_until_settled(agent)

    async def wait_until_settled(self, agent: Agent) -> Agent:
        """Advance the agent in this task until it asks people or is at rest; return it as saved."""
        await self.loop.advance(agent.id)
        return await self.views.agent(agent.channel, agent.id)

    async def decide(self, agent: Agent, decision: Decision, by: Actor = ANA) -> Turn:
        turn = await self.turn(agent)
        _, decided = await self.service.decide(turn.id, decision, self.origin(by), shown=turn.control_hash)
        return decided

    async def turn(self, agent: Agent) -> Turn:
        """The agent's newest turn; raise AssertionError before its first."""
        turn = await self.views.newest_turn(agent.channel, agent.id)
        if turn is None:
            raise AssertionError(f"{agent.name} has proposed nothing.")
        return turn


def _require_kind(kind: type[T], port: object) -> T:
    if not isinstance(port, kind):
        raise TypeError(f"This stage was set with a {type(port).__name__}.")
    return port
