"""Assembles the core from a host's ports and options: the loop, the services, the engine and the background jobs.

A host gives a database, a model, surfaces and workspaces, and gets services, a loop and an engine that belong together.
Parts that it leaves out have defaults that work without accounts. Without a sandbox, no program runs.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Self, TypeAlias

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.capability import CommandParts
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.capabilities.memory.hashing_embedder import HashingEmbedder
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.capabilities.programs.disabled import DisabledSandbox
from agent_core.engines.local import LocalEngine
from agent_core.loop.advance import AgentLoop
from agent_core.loop.command_runner import NO_EXTENSIONS, CommandRunner, Extensions
from agent_core.loop.proposing import Proposer
from agent_core.loop.recall import MAX_HISTORY_TOKENS
from agent_core.memory.long_term import LongTermMemory
from agent_core.memory.reindexing import Reindexer
from agent_core.model.ids import new_id
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.model.schedule import MOST_LATE
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.engine import Engine, EngineFactory, EngineParts
from agent_core.ports.files import Workspaces
from agent_core.ports.models import Embedder, LanguageModel, MemoryIndex, Rehearsal, TokenCounters
from agent_core.ports.sandbox import Sandbox
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry
from agent_core.prompt.model_client import MeteredModel
from agent_core.prompt.packing import COMMANDS_SETTING
from agent_core.prompt.profiles import ProfileName
from agent_core.providers.clock import SystemClock
from agent_core.service.agent_settings import AgentSettings
from agent_core.service.agents import UNDO_WINDOW, AgentDecisions, AgentService
from agent_core.service.creating.creation import DEFAULT_LIMITS, CreationLimits
from agent_core.service.creating.drafting import AgentDrafting
from agent_core.service.creating.forking import AgentForks
from agent_core.service.creating.tour import TourStarter
from agent_core.service.helpers import AgentHelpers
from agent_core.service.housekeeping.archiving import AgentArchive
from agent_core.service.housekeeping.erasing import Eraser
from agent_core.service.housekeeping.head_posting import HeadPosting
from agent_core.service.housekeeping.retention import RetentionJob
from agent_core.service.lifecycle import AgentLifecycle
from agent_core.service.memories import AgentMemories
from agent_core.service.notifications import ChannelNotifications
from agent_core.service.reading.views import AgentViews
from agent_core.service.schedules import AgentSchedules
from agent_core.service.self_review import SelfReview
from agent_core.service.server_questions import ServerQuestions
from agent_core.service.standing_rules import StandingRules
from agent_core.service.transactional import SavingParts, Succession
from agent_core.service.uploads import FileUploads
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import PRICE_SETTING
from agent_core.toolset.channel_tools import switched_by_channel
from agent_core.toolset.registry import Commands


@dataclass(frozen=True, slots=True, kw_only=True)
class CorePorts:
    """What a host plugs in. Agents are shown on `surfaces`; without a `sandbox` no programs run.

    `engine`: makes the engine; the one of this process alone, or one that shares agents with others.
    `telemetry`: is told what takes how long.
    `rehearsal`: the script if `model` is one; goals and models that it does not know are then refused.
    """

    database: Database
    model: LanguageModel
    index: MemoryIndex
    surfaces: Sequence[ChatSurface]
    workspaces: Workspaces
    sandbox: Sandbox | None = None
    clock: Clock = field(default_factory=SystemClock)
    tokens: TokenCounters = field(default_factory=Estimates)
    embedder: Embedder = field(default_factory=HashingEmbedder)
    engine: EngineFactory = LocalEngine
    rehearsal: Rehearsal | None = None
    telemetry: Telemetry = NOT_WATCHED


CommandFactory: TypeAlias = Callable[[CommandParts], Commands]


def basic_commands(parts: CommandParts) -> Commands:
    """Commands that need no account and reach nothing outside: files, memory, past turns, helpers, and finishing."""
    return Commands.of(
        *FILE_COMMANDS,
        *MemoryCommands(parts.memory, parts.clock).commands,
        *HistoryCommands(parts.database).commands,
        *AgentCommands(parts.helpers).commands,
        *FINISH_COMMANDS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreOptions:
    """What an operator chooses.

    `default_budget`: in US dollars. `continuous_limit`: the most commands that one decision lets run. None: no limit.
    `fast_model`: the model for summaries and repairs; if empty, the agent's own model.
    `effort`, `fast_effort`: reasoning efforts of the agent's model and of `fast_model`; if empty, the model's own.
    `history_tokens`: older turns are summarised when the history takes more.
    `shows_reasoning`: whether cards offer what a reasoning model wrote before its reply.
    `price_setting`, `commands_setting`: names of settings. `retention`: how long agents at rest and the log are kept.
    `undo_window`: how long an agent waits after a reply that rejected, so that it can be undone.
    `most_late`: a run of a schedule that is later than this, after downtime, is left out.
    `extensions`: hooks around every command, observers of turns, and lines for the standing prompt.
    """

    default_budget: Decimal | None = None
    limits: CreationLimits = DEFAULT_LIMITS
    continuous_limit: int | None = None
    fast_model: str = ""
    effort: str = ""
    fast_effort: str = ""
    shows_reasoning: bool = False
    profile: ProfileName = "auto"
    history_tokens: int = MAX_HISTORY_TOKENS
    price_setting: str = PRICE_SETTING
    commands_setting: str = COMMANDS_SETTING
    secrets: Secrets = NO_SECRETS
    retention: Retention = KEEP_ALL
    undo_window: timedelta = UNDO_WINDOW
    most_late: timedelta = MOST_LATE
    extensions: Extensions = NO_EXTENSIONS


DEFAULT_OPTIONS = CoreOptions()


@dataclass(slots=True, kw_only=True)
class Core:
    """What a host calls. `engine.run(loop.advance)` advances the agents until it is cancelled."""

    database: Database
    clock: Clock
    commands: Commands
    metered_model: MeteredModel
    memory: LongTermMemory
    ledger: BudgetLedger
    helpers: AgentHelpers
    engine: Engine
    loop: AgentLoop
    reindexer: Reindexer
    eraser: Eraser
    retention: RetentionJob
    service: AgentService
    views: AgentViews
    agent_settings: AgentSettings
    rules: StandingRules
    notifications: ChannelNotifications
    memories: AgentMemories
    review: SelfReview
    drafting: AgentDrafting
    uploads: FileUploads
    tour: TourStarter

    @classmethod
    def assemble(
        cls, ports: CorePorts, commands: CommandFactory = basic_commands, options: CoreOptions = DEFAULT_OPTIONS
    ) -> Self:
        """Put the parts together. Nothing is opened or started."""
        foundation = _Foundation(ports, commands, options)
        database, clock, engine, ledger = ports.database, ports.clock, foundation.engine, foundation.ledger
        memory, metered_model, service = foundation.memory, foundation.metered_model, foundation.service()
        rehearsal = ports.rehearsal
        return cls(
            database=database,
            clock=clock,
            commands=foundation.commands,
            metered_model=metered_model,
            memory=memory,
            ledger=ledger,
            helpers=foundation.helpers,
            engine=engine,
            loop=foundation.loop(),
            reindexer=Reindexer(database=database, memory=memory, ledger=ledger, clock=clock),
            eraser=foundation.eraser,
            retention=foundation.retention(service),
            service=service,
            views=AgentViews(
                database=database,
                clock=clock,
                commands=foundation.commands,
                workspaces=ports.workspaces,
                retention=options.retention,
                list_sources=options.extensions.list_sources,
                in_progress=lambda: engine.in_progress,
            ),
            agent_settings=foundation.agent_settings(),
            rules=foundation.rules(),
            notifications=ChannelNotifications(database=database, waker=engine, clock=clock),
            memories=AgentMemories(database=database, waker=engine, clock=clock, memory=memory, ledger=ledger),
            review=SelfReview(database=database, clock=clock, waker=engine, metered_model=metered_model, ledger=ledger),
            drafting=AgentDrafting(metered_model, ledger, options.limits, rehearsal),
            uploads=FileUploads(database=database, workspaces=ports.workspaces, waker=engine, clock=clock),
            tour=TourStarter(service=service, workspaces=ports.workspaces, rehearsal=rehearsal),
        )

    @property
    def background_jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What a process that advances agents does beside that: each runs until it is cancelled."""
        return self.reindexer.run(), self.eraser.run(), self.retention.run(), self.ledger.run()

    async def drain(self, seconds: float) -> int:
        """Bring the work of this process to an end, so that the next one can go on with it.

        Nothing new begins, model calls are given up and charged, and running commands have `seconds` to end; those that
        are still running are ended and put to people. Return how many those were.
        """
        self.loop.draining.request()
        try:
            return await self.engine.drain(seconds)
        finally:
            self.loop.draining.is_over = True


class _Foundation:
    """What the loop and the services share."""

    def __init__(self, ports: CorePorts, commands: CommandFactory, options: CoreOptions) -> None:
        database, clock, own = ports.database, ports.clock, options.extensions.embedders
        surfaces = tuple(each.name for each in ports.surfaces)
        self.ports, self.options = ports, options
        self.memory = LongTermMemory(database=database, embedder=ports.embedder, index=ports.index, own=own)
        self.ledger = BudgetLedger(
            database, clock, options.price_setting, new_id(clock.now()), telemetry=ports.telemetry
        )
        sandbox = ports.sandbox or DisabledSandbox("There is no sandbox.")
        self.engine = ports.engine(
            EngineParts(
                database=database,
                clock=clock,
                surfaces=surfaces,
                list_with_programs=sandbox.list_with_programs,
                end_programs=sandbox.end_all,
                charge_left=self.ledger.charge_left_of,
                telemetry=ports.telemetry,
            )
        )
        self.metered_model = MeteredModel(
            model=ports.model,
            tokens=ports.tokens,
            fast_model=options.fast_model,
            effort=options.effort,
            fast_effort=options.fast_effort,
            secrets=options.secrets,
            telemetry=ports.telemetry,
        )
        self.eraser = Eraser(database, ports.workspaces, self.memory, clock, ports.surfaces)
        self.helpers = AgentHelpers(database=database, clock=clock, waker=self.engine, eraser=self.eraser)
        parts = CommandParts(
            database=database, clock=clock, memory=self.memory, helpers=self.helpers, metered_model=self.metered_model
        )
        self.commands = switched_by_channel(commands(parts), database)

    def loop(self) -> AgentLoop:
        ports, options = self.ports, self.options
        proposer = Proposer(
            metered_model=self.metered_model,
            memory=self.memory,
            commands=self.commands,
            workspaces=ports.workspaces,
            clock=ports.clock,
            history_tokens=options.history_tokens,
            wanted_profile=options.profile,
            commands_setting=options.commands_setting,
            shows_reasoning=options.shows_reasoning,
            extensions=options.extensions,
        )
        runner = CommandRunner(
            commands=self.commands,
            workspaces=ports.workspaces,
            sandbox=ports.sandbox,
            extensions=options.extensions,
            secrets=options.secrets,
        )
        return AgentLoop(
            database=ports.database,
            proposer=proposer,
            runner=runner,
            surfaces={surface.name: surface for surface in ports.surfaces},
            clock=ports.clock,
            ledger=self.ledger,
            engine=self.engine,
            most_late=options.most_late,
            telemetry=ports.telemetry,
        )

    def retention(self, service: AgentService) -> RetentionJob:
        """The job that deletes what is kept for a limited time, and posts heads."""
        database, clock = self.ports.database, self.ports.clock
        return RetentionJob(
            database=database,
            lifecycle=service.lifecycle,
            clock=clock,
            retention=self.options.retention,
            workspaces=self.ports.workspaces,
            head_posting=HeadPosting(database=database, waker=self.engine, clock=clock),
        )

    def agent_settings(self) -> AgentSettings:
        return AgentSettings(
            database=self.ports.database,
            waker=self.engine,
            clock=self.ports.clock,
            succession=Succession(self.ports.surfaces),
            rehearsal=self.ports.rehearsal,
        )

    def rules(self) -> StandingRules:
        return StandingRules(
            database=self.ports.database,
            waker=self.engine,
            clock=self.ports.clock,
            succession=Succession(self.ports.surfaces),
            commands=self.commands,
        )

    def service(self) -> AgentService:
        saving = SavingParts(
            database=self.ports.database,
            waker=self.engine,
            clock=self.ports.clock,
            succession=Succession(self.ports.surfaces),
            telemetry=self.ports.telemetry,
        )
        lifecycle = AgentLifecycle(
            **saving,
            commands=self.commands,
            eraser=self.eraser,
            default_budget=self.options.default_budget,
            limits=self.options.limits,
            rehearsal=self.ports.rehearsal,
        )
        decisions = AgentDecisions(
            **saving,
            commands=self.commands,
            continuous_limit=self.options.continuous_limit,
            undo_window=self.options.undo_window,
        )
        questions = ServerQuestions(**saving)
        return AgentService(
            lifecycle=lifecycle,
            archive=AgentArchive(**saving),
            decisions=decisions,
            server_questions=questions,
            forks=AgentForks(**saving, workspaces=self.ports.workspaces, limits=self.options.limits),
            schedules=AgentSchedules(**saving),
        )
