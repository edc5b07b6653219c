"""The composition root: assembles one process, with the parts of `bot/wiring`; also its migration, locks and probes.

Slow imports (a model's SDK, migrations) happen only if a setting needs them.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from filelock import FileLock

from adapters.typed.actions import ActionDispatcher
from adapters.typed.management_commands import ManagementCommands
from adapters.typed.notification_commands import NotificationCommands, notifications_of
from adapters.typed.policies import ChannelPolicyCommands
from adapters.typed.schedule_commands import ScheduleCommands
from adapters.typed.standing_rules import RuleCommands
from agent_core.assembly import Core, CoreOptions, CorePorts
from agent_core.capabilities.models.capability import wanted_profile
from agent_core.engines.local import LocalEngine
from agent_core.errors import (
    DatabaseAway,
    DatabaseUnreachable,
    NewerTables,
    SettingsError,
    WorkersAtWork,
)
from agent_core.model.agent import Agent
from agent_core.model.origin import SurfaceName
from agent_core.model.records.deletion import Retention
from agent_core.oversight.secrets import Secrets
from agent_core.persistence.connections import first_line, job_queue_address
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.locks import engine_lock, leader_lock
from agent_core.persistence.schema import HEAD, can_work, upgrade, version
from agent_core.ports.clock import Clock
from agent_core.ports.database import in_one_unit
from agent_core.ports.engine import NO_BROADCAST, Broadcast, EngineFactory, EngineLock
from agent_core.ports.models import LanguageModel
from agent_core.ports.surface import ChatSurface
from agent_core.providers.clock import SystemClock
from agent_core.service.creating.creation import CreationLimits
from bot.capabilities import Capabilities
from bot.findings.doctor import Probes, Tables
from bot.platforms.chat_platforms import PLATFORMS, wire_platforms
from bot.platforms.platform import ChatConnection, PlatformParts, WiredPlatform
from bot.private_files import close_to_others
from bot.settings import Settings, unread_names
from bot.wiring.metrics import PrometheusMeters
from bot.wiring.models import Models, choose_templates
from bot.wiring.page_accounts import find_sign_in_fault, with_accounts
from bot.wiring.plugins import load_all_plugins
from bot.wiring.telemetry import make_telemetry
from bot.wiring.tool_servers import serve_core, with_tool_servers
from bot.wiring.workspaces import EXAMPLE_DATABASE, check_storage, find_workspaces_fault, make_workspaces

if TYPE_CHECKING:
    from procrastinate import App

WHAT_TO_CHECK = "Check that PostgreSQL runs there, host and port in DATABASE_URL, and that this machine may reach it."
WHAT_IS_REFUSED = "Check user, password, database and options in DATABASE_URL."


@dataclass(frozen=True, slots=True, kw_only=True)
class Signoff:
    """All assembled parts of one process. `meters`: what Prometheus may scrape; None where nothing is served."""

    settings: Settings
    models: Models
    core: Core
    broadcast: Broadcast
    platforms: Sequence[WiredPlatform] = ()
    meters: PrometheusMeters | None = None

    @property
    def actions(self) -> ActionDispatcher:
        """A dispatcher that carries out the actions that people choose or type on a surface."""
        core = self.core
        return ActionDispatcher(
            service=core.service,
            views=core.views,
            management_commands=ManagementCommands(
                views=core.views,
                agent_settings=core.agent_settings,
                memories=core.memories,
                notifications=NotificationCommands.of(core.notifications, core.loop.surfaces.values()),
                rules=RuleCommands(rules=core.rules, views=core.views),
                schedules=ScheduleCommands(schedules=core.service.schedules),
                channel_policy=ChannelPolicyCommands(
                    settings=core.agent_settings, surfaces=notifications_of(core.loop.surfaces.values())
                ),
                uploads=core.uploads,
                forks=core.service.forks,
            ),
            review=core.review,
        )

    @property
    def model(self) -> LanguageModel:
        return self.models.model

    def engine_lock(self) -> EngineLock:
        """The lock of a process that works on the database."""
        return engine_lock(self.settings.database_url, self.core.clock)

    def leader_lock(self, led: str) -> EngineLock:
        """The lock of the one process that does what `led` names."""
        return leader_lock(self.settings.database_url, self.core.clock, led)

    def lock_of(self, agent: Agent) -> EngineLock:
        """The lock of the one terminal that advances the agent and its helpers, also through an outage."""
        return leader_lock(self.settings.database_url, self.core.clock, f"solo-{agent.home}", math.inf)

    def connections(self) -> Mapping[SurfaceName, ChatConnection]:
        return {each.surface.name: each.connect(self.actions, self.core) for each in self.platforms}


@asynccontextmanager
async def assemble(
    settings: Settings, *surfaces: ChatSurface, with_platforms: bool = False, is_alone: bool = False
) -> AsyncIterator[Signoff]:
    """Migrate the database, assemble a process for these surfaces, and close everything at the end.

    `with_platforms`: include the enabled chat platforms. `is_alone`: it alone advances agents of these surfaces.
    """
    make_home(settings)
    await migrate_database(settings)
    close_to_others(settings)
    clock, meters = SystemClock(), PrometheusMeters() if with_platforms else None
    broadcast = NO_BROADCAST if settings.sqlite_file else _broadcast(settings, clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback((database := SqlDatabase(settings.database_url)).close)
        stack.push_async_callback((models := Models.of(settings, database)).close)
        telemetry = make_telemetry(settings, models.model, clock, stack, meters)
        workspaces = make_workspaces(settings)
        await check_storage(settings, workspaces, database)
        stack.push_async_callback((plugins := await load_all_plugins(settings, clock)).close)
        stack.push_async_callback((capabilities := Capabilities.of(settings, plugins, clock)).close)
        await capabilities.open()
        parts = PlatformParts(
            database=database,
            workspaces=workspaces,
            clock=clock,
            model=models.model,
            broadcast=broadcast,
            templates=choose_templates(settings),
            telemetry=telemetry,
        )
        platforms = wire_platforms(settings, parts, stack) if with_platforms else []
        engine = LocalEngine if is_alone or settings.sqlite_file else _job_queue(settings)
        shown = (*with_accounts(surfaces, settings, database), *(each.surface for each in platforms))
        ports = _core_ports(parts, models, capabilities, shown, engine)
        core = Core.assemble(ports, capabilities.commands, _options(settings, capabilities))
        await stack.enter_async_context(core.engine.connect())
        await stack.enter_async_context(serve_core(settings, capabilities.servers, core, clock))
        yield Signoff(
            settings=settings, models=models, core=core, broadcast=broadcast, platforms=platforms, meters=meters
        )


def _core_ports(
    parts: PlatformParts,
    models: Models,
    capabilities: Capabilities,
    surfaces: Sequence[ChatSurface],
    engine: EngineFactory,
) -> CorePorts:
    return CorePorts(
        database=parts.database,
        model=models.model,
        index=models.index,
        surfaces=surfaces,
        workspaces=parts.workspaces,
        sandbox=capabilities.programs.sandbox,
        clock=parts.clock,
        tokens=models.tokens,
        embedder=models.embedder,
        engine=engine,
        rehearsal=models.rehearsal,
        telemetry=parts.telemetry,
    )


async def migrate_database(settings: Settings) -> bool:
    """Migrate the database. Return whether a newer release has extended its tables, which are left as they are.

    Raise DatabaseUnreachable if it does not answer, SettingsError if it refuses or its schema is newer.
    """
    try:
        return await upgrade(settings.database_url)
    except (NewerTables, WorkersAtWork) as fault:
        raise SettingsError("DATABASE_URL", str(fault)) from fault
    except DatabaseAway as away:
        raise database_unreachable(settings) from away
    except OSError as fault:
        said = f"{settings.shown_database} cannot be used: {fault}."
        raise SettingsError("DATABASE_URL", said, EXAMPLE_DATABASE) from fault


def database_unreachable(settings: Settings) -> DatabaseUnreachable:
    said = f"{settings.shown_database} cannot be reached. Is it running, and may this process use it?"
    return DatabaseUnreachable("DATABASE_URL", said, EXAMPLE_DATABASE)


async def server_fault(settings: Settings) -> str:
    """Why a database server cannot be used, and what to check; "" if it can, and for SQLite."""
    if settings.sqlite_file:
        return ""
    try:
        await version(settings.database_url)
    except (DatabaseAway, OSError) as fault:
        return f"{settings.shown_database} {_database_fault(settings, fault)}"
    return ""


def _database_fault(settings: Settings, fault: DatabaseAway | OSError) -> str:
    """What is wrong with the database, to complete its address, and what to check."""
    if isinstance(fault, DatabaseAway):
        why = first_line(fault.__cause__ or fault).rpartition("failed: ")[2]
        return f"cannot be reached ({why})." + ("" if settings.sqlite_file else f" {WHAT_TO_CHECK}")
    return f"cannot be used: {fault}." + ("" if settings.sqlite_file else f" {WHAT_IS_REFUSED}")


def system_clock() -> Clock:
    return SystemClock()


def home_lock(settings: Settings) -> FileLock:
    """The lock of the data folder, which one engine at a time holds."""
    return FileLock(settings.home / "engine.lock", blocking=False)


def make_home(settings: Settings) -> None:
    """Create the data folder; raise SettingsError if that fails."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        said = f"{settings.home} cannot be made ({fault.strerror})."
        raise SettingsError("SIGNOFF_HOME", said, "/var/lib/signoff") from fault


def probes(settings: Settings) -> Probes:
    """The checks that `signoff doctor` runs on the configuration."""
    return Probes(
        database=partial(_tables, settings),
        platforms={platform.name: partial(platform.fault, settings) for platform in PLATFORMS},
        capabilities=Capabilities.of(settings),
        files=partial(find_workspaces_fault, settings),
        sign_in=partial(find_sign_in_fault, settings),
        unread_names=unread_names,
    )


async def _tables(settings: Settings) -> Tables:
    try:
        found = await version(settings.database_url)
        is_newer = found > HEAD
        if is_newer and not await can_work(settings.database_url):
            return Tables(fault=f"has tables of a newer Signoff ({found}; this one has {HEAD}): use that one")
        workers = None if settings.sqlite_file or found < HEAD else await _count_workers(settings)
        return Tables(version=found, is_newer=is_newer, workers=workers)
    except (DatabaseAway, OSError) as fault:
        return Tables(fault=_database_fault(settings, fault).rstrip("."))


async def _count_workers(settings: Settings) -> int:
    """The number of processes that advance agents."""
    database = SqlDatabase(settings.database_url)
    try:
        return await in_one_unit(database, lambda work: work.jobs.count_workers())
    finally:
        await database.close()


def _broadcast(settings: Settings, clock: Clock) -> Broadcast:
    """What several processes tell one another."""
    from agent_core.persistence.server_broadcast import ServerBroadcast  # its driver is of an extra

    return ServerBroadcast(settings.database_url, clock)


def _job_queue(settings: Settings) -> EngineFactory:
    """The engine of several processes."""
    from agent_core.engines.job_queue import JobQueueEngine  # slow to import

    return partial(JobQueueEngine, address=job_queue_address(settings.database_url))


def queue_app(settings: Settings) -> "App":
    """The queue of jobs, for Procrastinate's own command line."""
    from procrastinate import App, PsycopgConnector

    return App(connector=PsycopgConnector(conninfo=job_queue_address(settings.database_url)))


def _options(settings: Settings, capabilities: Capabilities) -> CoreOptions:
    return CoreOptions(
        default_budget=settings.default_budget_usd,
        limits=CreationLimits(
            guests_may_create=settings.guests_may_create,
            agents_per_channel=settings.max_agents_per_channel,
            agents_per_person=settings.max_agents_per_person,
        ),
        fast_model=settings.fast_model if settings.has_endpoint else "",  # the demo is one model
        effort=settings.reasoning_effort,
        fast_effort=settings.fast_reasoning_effort,
        shows_reasoning=settings.show_reasoning,
        continuous_limit=settings.continuous_limit,
        price_setting=_price_setting(settings),
        commands_setting="DISABLED_CATEGORIES",
        profile=wanted_profile(settings),
        secrets=Secrets.of(settings.secrets),
        extensions=with_tool_servers(capabilities.extensions, capabilities.servers, settings),
        most_late=timedelta(hours=settings.schedule_late_hours),
        retention=Retention(history_days=settings.history_days, audit_days=settings.audit_days),
    )


def _price_setting(settings: Settings) -> str:
    """The name of the setting for prices, for the message that a price is missing."""
    return f"MODEL_PRICES, also for {settings.fallback_model}" if settings.fallback_model else "MODEL_PRICES"
