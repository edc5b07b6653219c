"""The composition root: assembles one process, with the parts that `model_wiring.py` and `tool_wiring.py` choose.

Slow imports (a model's SDK, migrations) happen only if a setting needs them.
"""

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock

from adapters.actions import ActionDispatcher
from adapters.management_commands import ManagementCommands
from agent_core.assembly import Core, CoreOptions, CorePorts
from agent_core.errors import NewerTables, SettingsError, UnfinishedImport
from agent_core.model.channels import SurfaceName
from agent_core.oversight.secrets import Secrets
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.engine_lock import engine_lock
from agent_core.persistence.schema import is_importing, upgrade, version
from agent_core.ports.engine import EngineLock
from agent_core.ports.models import LanguageModel
from agent_core.ports.surface import ChatSurface
from agent_core.providers.clock import SystemClock
from agent_core.providers.llm.server_discovery import find_local_servers
from agent_core.providers.workspace.folder_workspace import FolderWorkspaces
from agent_core.service.creation_limits import CreationLimits
from bot.command_catalog import CommandCatalog
from bot.doctor import Probes, Tables
from bot.model_wiring import Models, check_model_endpoint, default_window, wanted_profile
from bot.platforms.chat_platforms import PLATFORMS, platforms_on
from bot.platforms.platform import ChatConnection, PlatformParts, WiredPlatform
from bot.private_files import close_to_others
from bot.settings import Settings, unread_names
from bot.tool_wiring import Tools, tool_probes


@dataclass(frozen=True, slots=True, kw_only=True)
class Signoff:
    """All assembled parts of one process."""

    settings: Settings
    models: Models
    core: Core
    engine_lock: EngineLock
    platforms: Sequence[WiredPlatform] = ()

    @property
    def actions(self) -> ActionDispatcher:
        """A dispatcher that carries out the actions that people choose or type on a surface."""
        core = self.core
        return ActionDispatcher(
            service=core.service,
            views=core.views,
            management_commands=ManagementCommands(
                views=core.views, agent_settings=core.agent_settings, memories=core.memories
            ),
            review=core.review,
        )

    @property
    def model(self) -> LanguageModel:
        return self.models.model

    def connections(self) -> Mapping[SurfaceName, ChatConnection]:
        return {each.surface.name: each.connect(self.actions, self.core) for each in self.platforms}


@asynccontextmanager
async def assemble(settings: Settings, *surfaces: ChatSurface, with_platforms: bool = False) -> AsyncIterator[Signoff]:
    """Migrate the database, assemble a process for these surfaces, and close everything at the end.

    `with_platforms`: include the enabled chat platforms.
    """
    make_home(settings)
    await migrate_database(settings)
    close_to_others(settings)
    database, clock = SqlDatabase(settings.database_url), SystemClock()
    workspaces = FolderWorkspaces(settings.home / "workspaces")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        models = Models.of(settings, database)
        stack.push_async_callback(models.close)
        tools = await Tools.of(settings, workspaces, clock)
        stack.push_async_callback(tools.close)
        parts = PlatformParts(database=database, clock=clock, model=models.model.label)
        platforms: list[WiredPlatform] = []
        for platform in platforms_on(settings) if with_platforms else ():
            platforms.append(platform.wire(settings, parts))
            stack.push_async_callback(platforms[-1].close)
        ports = CorePorts(
            database=database,
            model=models.model,
            index=models.index,
            surfaces=(*surfaces, *(platform.surface for platform in platforms)),
            workspaces=workspaces,
            sandbox=tools.sandbox,
            clock=clock,
            tokens=models.tokens,
            embedder=models.embedder,
        )
        catalog = CommandCatalog(settings=settings, tools=tools, search=models.search)
        core = Core.assemble(ports, catalog.commands, _options(settings))
        lock = engine_lock(settings.database_url, clock, engine_owner(settings.home))
        yield Signoff(settings=settings, models=models, core=core, engine_lock=lock, platforms=platforms)


async def migrate_database(settings: Settings) -> None:
    """Migrate the database.

    Raise SettingsError if it cannot be reached, its schema is newer than this version, or an import was interrupted.
    """
    try:
        await upgrade(settings.database_url)
    except (NewerTables, UnfinishedImport) as fault:
        raise SettingsError("DATABASE_URL", str(fault), "sqlite:////var/lib/signoff/other.db") from fault
    except OSError as fault:
        said = f"{settings.shown_database} cannot be reached. Is it running, and may this process use it?"
        raise SettingsError("DATABASE_URL", said, "postgresql://signoff@localhost/signoff") from fault


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


def engine_owner(home: Path) -> str:
    """The name by which an engine with this data folder knows its own sessions at a database again."""
    file = home / "engine.id"
    file.touch(mode=0o600)
    if not file.read_text(encoding="ascii"):
        file.write_text(secrets.token_hex(8), encoding="ascii")
    return file.read_text(encoding="ascii")[:40]


def probes(settings: Settings) -> Probes:
    """The checks that `signoff doctor` runs on the configuration."""
    from agent_core.providers.embeddings.local_embedder import LocalEmbedder
    from agent_core.providers.llm.local_model import model_file_fault
    from agent_core.providers.llm.tokenizer_files import missing  # imported on first use

    return Probes(
        endpoint=check_model_endpoint,
        local_servers=find_local_servers,
        database=partial(_tables, settings),
        platforms={platform.name: partial(platform.fault, settings) for platform in PLATFORMS},
        local_model=partial(model_file_fault, settings.local_model) if settings.local_model else str,
        tokenizers=partial(missing, settings.tokenizers),
        word_vectors=LocalEmbedder.is_installed,
        tools=tool_probes(settings),
        window=partial(default_window, settings),
        unread_names=unread_names,
    )


async def _tables(settings: Settings) -> Tables:
    try:
        found = await version(settings.database_url)
        return (
            Tables(fault="has only a part of an import: go on with `import FILE --resume`")
            if is_importing(found)
            else Tables(version=found)
        )
    except OSError as fault:
        return Tables(fault=f"cannot be reached ({type(fault).__name__})")


def _options(settings: Settings) -> CoreOptions:
    return CoreOptions(
        default_budget=settings.default_budget_usd,
        limits=CreationLimits(
            guests_may_create=settings.guests_may_create,
            agents_per_channel=settings.max_agents_per_channel,
            agents_per_person=settings.max_agents_per_person,
        ),
        fast_model=settings.fast_model if settings.has_endpoint else "",  # a model file contains one model
        effort=settings.reasoning_effort,
        fast_effort=settings.fast_reasoning_effort,
        shows_reasoning=settings.show_reasoning,
        continuous_limit=settings.continuous_limit,
        price_setting=_price_setting(settings),
        commands_setting="DISABLED_CATEGORIES",
        profile=wanted_profile(settings),
        secrets=Secrets.of(settings.secrets),
    )


def _price_setting(settings: Settings) -> str:
    """The name of the setting for prices, for the message that a price is missing."""
    return f"MODEL_PRICES, also for {settings.fallback_model}" if settings.fallback_model else "MODEL_PRICES"
