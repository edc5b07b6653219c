"""The composition root: the only module that names every concrete class.

Slow imports (the SDK of a model, migrations) happen only where a setting asks for them.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from adapters.intents import Intents
from agent_core.commands.files import FILE_COMMANDS
from agent_core.commands.finish import FINISH_COMMANDS
from agent_core.commands.registry import Commands
from agent_core.engines.local import LocalEngine
from agent_core.errors import SettingsError, SurfaceError
from agent_core.loop.acting import Hands
from agent_core.loop.advance import AgentLoop
from agent_core.loop.thinking import Mind
from agent_core.model.places import SurfaceName
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade, version
from agent_core.ports.database import Database
from agent_core.ports.minds import LanguageModel
from agent_core.ports.precedence import Precedence
from agent_core.ports.surface import ChatSurface
from agent_core.ports.world import Clock, Workspaces
from agent_core.providers.clock import SystemClock
from agent_core.providers.detection import local_servers
from agent_core.providers.files import FolderWorkspaces
from agent_core.providers.rehearsal import RehearsalModel
from agent_core.providers.tokens import EstimatedTokens
from agent_core.service.agents import AgentService
from agent_core.service.drafting import AgentDrafting
from agent_core.service.received import ReceivedFiles
from agent_core.service.views import AgentViews
from bot.doctor import Probes, Tables, endpoint_fault
from bot.settings import Settings

if TYPE_CHECKING:
    from adapters.slack.connection import SlackConnection
    from bot.slack import SlackSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Signoff:
    """Everything wired together."""

    settings: Settings
    clock: Clock
    model: LanguageModel
    surfaces: Mapping[SurfaceName, ChatSurface]
    engine: LocalEngine
    loop: AgentLoop
    service: AgentService
    views: AgentViews
    database: Database
    workspaces: Workspaces
    slack: "SlackSide | None" = None

    @property
    def intents(self) -> Intents:
        """What people press and type."""
        return Intents(service=self.service, views=self.views)

    def slack_connection(self) -> "SlackConnection | None":
        """What takes in what people do in Slack, where Slack is on."""
        if self.slack is None:
            return None
        received = ReceivedFiles(
            database=self.database, workspaces=self.workspaces, waker=self.engine, clock=self.clock
        )
        return self.slack.connected(self.intents, AgentDrafting(self.model), received)


@asynccontextmanager
async def assembled(settings: Settings, *surfaces: ChatSurface, with_slack: bool = False) -> AsyncIterator[Signoff]:
    """Bring the tables up to date and wire everything for these surfaces; let go of it at the end."""
    make_home(settings)
    await migrated(settings)
    database = SqlDatabase(settings.database_url)
    model, clock = make_model(settings), SystemClock()
    slack = make_slack(settings, database, clock, model) if with_slack and settings.has_slack else None
    every = (*surfaces, slack.surface) if slack else surfaces
    try:
        yield _wired(settings, database, model, {surface.name: surface for surface in every}, slack=slack, clock=clock)
    finally:
        if slack:
            await slack.close()
        await database.close()
        if close := getattr(model, "close", None):
            await close()


async def migrated(settings: Settings) -> None:
    """Bring the database up to date; raise SettingsError when it cannot be reached or is newer."""
    try:
        await upgrade(settings.database_url)
    except OSError as fault:
        said = f"{settings.shown_database} cannot be reached. Is it running, and may this process use it?"
        raise SettingsError("DATABASE_URL", said, "postgresql://signoff@localhost/signoff") from fault


def make_home(settings: Settings) -> None:
    """Make the data folder; raise SettingsError when that cannot be done."""
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        said = f"{settings.home} cannot be made ({fault.strerror})."
        raise SettingsError("SIGNOFF_HOME", said, "/var/lib/signoff") from fault


def probes(settings: Settings) -> Probes:
    """How the doctor looks at what is configured."""
    base_url = settings.openai_base_url or "https://api.openai.com/v1"
    endpoint = partial(endpoint_fault, base_url, settings.openai_api_key.get_secret_value())
    return Probes(
        endpoint=endpoint,
        local_servers=local_servers,
        database=partial(_tables, settings),
        slack=partial(_slack_fault, settings),
    )


async def _tables(settings: Settings) -> Tables:
    try:
        return Tables(version=await version(settings.database_url))
    except OSError as fault:
        return Tables(fault=f"cannot be reached ({type(fault).__name__})")


async def _slack_fault(settings: Settings) -> str | None:
    from adapters.slack.tokens import Tokens  # loads Slack's SDK
    from adapters.slack.web_api import SLACK_API

    base_url = settings.slack_api_url or SLACK_API
    tokens = Tokens.single(bot_token=settings.slack_bot_token.get_secret_value(), base_url=base_url)
    try:
        await tokens.prepare()
    except SettingsError as error:
        return error.fault
    except SurfaceError as error:
        return str(error)
    finally:
        await tokens.close()
    return None


def make_model(settings: Settings) -> LanguageModel:
    """The endpoint that is configured, or the rehearsal model: nothing found by itself is used unasked."""
    if not settings.has_endpoint:
        return RehearsalModel()
    from agent_core.providers.openai_model import OPENAI_URL, OpenAIModel
    from agent_core.providers.prices import Prices

    base_url = settings.openai_base_url or OPENAI_URL
    return OpenAIModel(
        base_url=base_url,
        api_key=settings.openai_api_key.get_secret_value(),
        model=settings.smart_model,
        temperature=settings.temperature,
        prices=Prices.at(base_url, settings.model_prices),
    )


def make_slack(settings: Settings, database: Database, clock: Clock, model: LanguageModel) -> "SlackSide":
    """What shows agents in Slack."""
    from bot.slack import SlackSide  # loads Slack's SDK

    return SlackSide.of(settings, database, clock, model.label)


def make_commands(settings: Settings) -> Commands:
    """Every command that is not switched off; raise SettingsError for a name that is none."""
    every = [*FILE_COMMANDS, *FINISH_COMMANDS]
    _must_be_known("DISABLED_COMMANDS", settings.disabled_commands, {command.spec.name for command in every})
    _must_be_known("DISABLED_CATEGORIES", settings.disabled_categories, {command.spec.category for command in every})
    disabled = {*settings.disabled_commands, *settings.disabled_categories}
    return Commands.of(*(each for each in every if not disabled & {each.spec.name, each.spec.category}))


def _must_be_known(variable: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise SettingsError(variable, f"{name!r} is none of {', '.join(sorted(known))}.", min(known))


def _wired(
    settings: Settings,
    database: SqlDatabase,
    model: LanguageModel,
    surfaces: Mapping[SurfaceName, ChatSurface],
    *,
    slack: "SlackSide | None",
    clock: Clock,
) -> Signoff:
    commands, precedence = make_commands(settings), Precedence()
    workspaces = FolderWorkspaces(settings.home / "workspaces")
    engine = LocalEngine(database=database, clock=clock, surfaces=tuple(surfaces))
    mind = Mind(model=model, commands=commands, workspaces=workspaces, tokens=EstimatedTokens(), clock=clock)
    hands = Hands(commands=commands, workspaces=workspaces)
    return Signoff(
        settings=settings,
        clock=clock,
        model=model,
        surfaces=surfaces,
        engine=engine,
        loop=AgentLoop(
            database=database, mind=mind, hands=hands, surfaces=surfaces, clock=clock, precedence=precedence
        ),
        service=AgentService(
            database=database,
            commands=commands,
            workspaces=workspaces,
            waker=engine,
            clock=clock,
            default_budget=settings.default_budget_usd,
            precedence=precedence,
        ),
        views=AgentViews(database=database, commands=commands, workspaces=workspaces, clock=clock),
        database=database,
        workspaces=workspaces,
        slack=slack,
    )
