"""The core of Signoff on test doubles: service, views, loop and engine on one in-memory database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from datetime import timedelta
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

from agent_core.assembly import Core, CoreOptions, CorePorts
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.capability import CommandParts
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.engines.local import LocalEngine
from agent_core.loop.command_runner import Extensions
from agent_core.model.agent import Agent
from agent_core.model.decision import Decision
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.deletion import Retention
from agent_core.model.turn import Turn
from agent_core.oversight.secrets import Secrets
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.engine import EngineFactory
from agent_core.ports.files import Workspaces
from agent_core.ports.models import Embedder, LanguageModel, MemoryIndex, Rehearsal
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry
from agent_core.prompt.profiles import ProfileName
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import Commands

T = TypeVar("T")


class StageOptions(TypedDict, total=False):
    """The fields of CoreOptions that a test can set."""

    fast_model: str
    history_tokens: int
    extensions: Extensions
    profile: ProfileName
    retention: Retention
    secrets: Secrets
    undo_window: timedelta
    most_late: timedelta


class Stage(Core):
    """The core on test doubles. A test can pass its own ports; `run` keeps the engine running for a with-block."""

    def __init__(  # noqa: PLR0913 - one for each port
        self,
        *,
        model: LanguageModel | None = None,
        database: Database | None = None,
        surface: ChatSurface | None = None,
        workspaces: Workspaces | None = None,
        clock: Clock | None = None,
        commands: Commands | None = None,
        embedder: Embedder | None = None,
        index: MemoryIndex | None = None,
        rehearsal: Rehearsal | None = None,
        engine: EngineFactory = LocalEngine,
        telemetry: Telemetry = NOT_WATCHED,
        **options: Unpack[StageOptions],
    ) -> None:
        self.model, self.surface = model or ScriptedModel(), surface or RecordingSurface()
        self.embedder = embedder or WordEmbedder()
        clock = clock or FakeClock()
        self.workspaces = workspaces or InMemoryWorkspaces(clock=clock)
        ports = CorePorts(
            database=database or TemporaryDatabase(),
            model=self.model,
            index=index or InMemoryIndex(),
            surfaces=(self.surface,),
            workspaces=self.workspaces,
            clock=clock,
            embedder=self.embedder,
            rehearsal=rehearsal,
            engine=engine,
            telemetry=telemetry,
        )
        options.setdefault("undo_window", timedelta())  # agents think at once after a reply
        chosen = commands or Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)
        self.core = Core.assemble(ports, partial(_with_memory, chosen), CoreOptions(**options))
        super().__init__(**{each.name: getattr(self.core, each.name) for each in fields(Core)})

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
        """Create an agent owned by Ana, and advance it until it asks people or is at rest."""
        agent = await self.service.lifecycle.create(
            AgentDraft(name="Clerk", goals=goals or ("Write a file",), **draft), self.origin()
        )
        return await self.wait_until_settled(agent)

    async def wait_until_settled(self, agent: Agent) -> Agent:
        """Advance the agent, without the engine, until it asks people or is at rest; return it as saved."""
        await self.loop.advance(agent.id)
        return await self.views.agent(agent.channel, agent.id)

    async def decide(self, agent: Agent, decision: Decision, by: Actor = ANA) -> Turn:
        turn = await self.turn(agent)
        _, decided = await self.service.decisions.decide(turn.id, decision, self.origin(by), shown=turn.control_hash)
        return decided

    async def turn(self, agent: Agent) -> Turn:
        """The agent's newest turn; raise AssertionError if it has none."""
        turn = await self.views.newest_turn(agent.channel, agent.id)
        if turn is None:
            raise AssertionError(f"{agent.name} has proposed nothing.")
        return turn


def _with_memory(commands: Commands, parts: CommandParts) -> Commands:
    recall = (*MemoryCommands(parts.memory, parts.clock).commands, *HistoryCommands(parts.database).commands)
    return Commands.of(*commands.by_name.values(), *recall)


def _require_kind(kind: type[T], port: object) -> T:
    if not isinstance(port, kind):
        raise TypeError(f"This stage was set with a {type(port).__name__}.")
    return port
