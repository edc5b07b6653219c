"""The commands of the command line, called with the loaded settings."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from aiohttp import web
from filelock import Timeout

from adapters.http_body import BODY_TIMEOUT
from adapters.web.guard import Guard
from adapters.web.page_context import ModelLabel, WebContext
from adapters.web.surface import WebSurface
from agent_core.errors import EngineTaken, SettingsError
from agent_core.model.channels import SurfaceName
from agent_core.model.lines import counted
from agent_core.ports.engine import EngineLock
from bot.bootstrap import Signoff, assemble, home_lock, make_home, migrate_database, probes
from bot.doctor import findings, report
from bot.http_server import LimitedSite, ServerLimits
from bot.model_wiring import Models
from bot.platforms.platform import ChatConnection
from bot.settings import Settings
from bot.transfer_commands import export_data, import_data
from bot.web import application
from bot.worker import until_told, work

Command = Callable[[Settings, Sequence[str]], Awaitable[int]]
GRACE = 2.0


@dataclass(frozen=True, slots=True)
class Chats:
    """The connections to the enabled chat platforms, by the platform's name."""

    connections: Mapping[SurfaceName, ChatConnection]

    @property
    def routes(self) -> Sequence[web.RouteDef]:
        return tuple(route for chat in self.connections.values() for route in chat.routes)

    @property
    def heard(self) -> Mapping[str, Callable[[], datetime | None]]:
        return {name: partial(getattr, chat, "heard_at") for name, chat in self.connections.items()}

    @property
    def listening(self) -> tuple[Awaitable[None], ...]:
        return tuple(chat.run() for chat in self.connections.values())


async def run(settings: Settings, _rest: Sequence[str]) -> int:
    """Run everything in one process."""
    surface = WebSurface()
    with _only_one(settings):
        async with assemble(settings, surface, with_platforms=True) as signoff:
            chats = await _prepare_chats(signoff)
            async with _engine_lock(signoff) as lock, _serve_pages(signoff, surface, chats) as workspace:
                await _work_until_told(signoff, lock, _tell(signoff, workspace), *chats.listening)
    return 0


async def serve(settings: Settings, _rest: Sequence[str]) -> int:
    """Serve the web pages and receive the chat platforms' events; a worker in another process advances the agents."""
    _needs_postgres("web", settings)
    surface = WebSurface()
    async with assemble(settings, surface, with_platforms=True) as signoff:
        chats = await _prepare_chats(signoff)
        async with _serve_pages(signoff, surface, chats) as workspace:
            await until_told(_tell(signoff, workspace), *chats.listening)
    return 0


async def advance(settings: Settings, _rest: Sequence[str]) -> int:
    """Run the worker only; another process serves the web pages."""
    _needs_postgres("worker", settings)
    with _only_one(settings):
        async with assemble(settings, WebSurface(), with_platforms=True) as signoff:
            await _prepare_chats(signoff)
            async with _engine_lock(signoff) as lock:
                _say("The worker runs. Ctrl-C stops it.")
                await _work_until_told(signoff, lock)
    return 0


async def migrate(settings: Settings, _rest: Sequence[str]) -> int:
    """Migrate the database and print the result."""
    await migrate_database(settings)
    _say("The database is up to date.")
    return 0


async def doctor(settings: Settings, _rest: Sequence[str]) -> int:
    """Print which features are on, which are off, and how to change that; return 1 if something is misconfigured."""
    found = await findings(settings, probes(settings))
    _say(report(found))
    return int(any(finding.state == "fault" for finding in found))


async def solo(settings: Settings, rest: Sequence[str]) -> int:
    """Run one agent in this terminal."""
    from bot import solo as terminal  # only this command needs it

    return await terminal.run(settings, rest)


BY_NAME: dict[str, Command] = {
    "run": run,
    "web": serve,
    "worker": advance,
    "solo": solo,
    "migrate": migrate,
    "export": export_data,
    "import": import_data,
    "doctor": doctor,
}


@asynccontextmanager
async def _serve_pages(signoff: Signoff, surface: WebSurface, chats: Chats) -> AsyncIterator[WebContext]:
    """Serve the pages inside the `with` block; raise SettingsError if the port is in use."""
    settings = signoff.settings
    guard = Guard(token=settings.web_token.get_secret_value(), public_url=settings.public_url)
    model_label = ModelLabel(signoff.model.label)
    core = signoff.core
    workspace = WebContext(
        actions=signoff.actions,
        service=core.service,
        views=core.views,
        agent_settings=core.agent_settings,
        memories=core.memories,
        uploads=core.uploads,
        hub=surface.hub,
        guard=guard,
        clock=core.clock,
        model_label=model_label,
    )
    limits = ServerLimits.for_process()
    app = application(workspace, chats.routes, chats.heard)
    app[BODY_TIMEOUT] = limits.body_seconds
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE)
    await runner.setup()
    try:
        await LimitedSite(runner, settings.host, settings.port, limits).start()
        yield workspace
    except OSError as fault:
        said = f"{settings.host}:{settings.port} cannot be listened on ({os.strerror(fault.errno or 0)})."
        raise SettingsError("PORT", said, "8701") from fault
    finally:
        await runner.cleanup()


async def _prepare_chats(signoff: Signoff) -> Chats:
    """Build the connections to the platforms and test the tokens; raise SettingsError if a platform rejects one."""
    chats = Chats(signoff.connections())
    for chat in chats.connections.values():
        await chat.prepare()
    return chats


async def _tell(signoff: Signoff, workspace: WebContext) -> None:
    """Print the page's address and the doctor's findings; show hints on the page. Then wait until cancelled."""
    _say(f"Signoff is at {signoff.settings.address}")
    await signoff.models.prepare()
    found = await findings(signoff.settings, probes(signoff.settings))
    hints = tuple(
        each.why
        for each in found
        if each.name == "local model" or (each.name == "model" and each.state in ("warn", "fault"))
    )
    workspace.model_label = ModelLabel(signoff.model.label, hints, memory_hints(signoff.models))
    _say(report(found))
    await asyncio.Event().wait()


async def _work_until_told(signoff: Signoff, lock: EngineLock, *jobs: Awaitable[None]) -> None:
    """Advance the agents beside these jobs, until the process is told to end; then drain."""
    core = signoff.core
    engine = work(core.engine, core.loop)
    await until_told(engine, _watch(lock), core.reindexer.run(), *jobs, drain=partial(_drain, signoff))


async def _drain(signoff: Signoff) -> None:
    """Bring the agents' work to an end; say so if that takes time."""
    seconds = signoff.settings.shutdown_seconds
    if number := signoff.core.engine.in_progress:
        _say(
            f"Signoff stops: {counted(number, 'agent')} at work; running commands have {seconds} s. "
            "Press Ctrl-C again to end them now."
        )
    late = await signoff.core.drain(seconds)
    if late:
        _say(f"Ended after {seconds} s: the command of {counted(late, 'agent')}. Each card asks what became of it.")


def memory_hints(models: Models) -> tuple[str, ...]:
    """Hints for the memory page: how memories are searched and how tokens are counted."""
    meaning = "Found by words, not by meaning: nothing here embeds texts. EMBEDDING_MODEL changes that."
    counted = "Tokens are estimated here."
    is_counted = models.tokens.of(models.model.default_model).is_exact
    return (*(() if models.embedder.is_semantic else (meaning,)), *(() if is_counted else (counted,)))


@contextmanager
def _only_one(settings: Settings) -> Iterator[None]:
    """Lock the data folder for one engine; raise SettingsError if another engine holds the lock."""
    make_home(settings)
    try:
        with home_lock(settings):
            yield
    except Timeout as taken:
        said = f"another Signoff is already at work in {settings.home}."
        raise SettingsError("SIGNOFF_HOME", said, ".signoff-2") from taken


@asynccontextmanager
async def _engine_lock(signoff: Signoff) -> AsyncIterator[EngineLock]:
    """Lock the database for one engine; raise SettingsError if another engine holds the lock."""
    try:
        await signoff.engine_lock.acquire()
        yield signoff.engine_lock
    except EngineTaken as taken:
        raise _database_taken() from taken
    finally:
        await signoff.engine_lock.release()


async def _watch(lock: EngineLock) -> None:
    try:
        await lock.watch()
    except EngineTaken as taken:
        raise _database_taken() from taken


def _database_taken() -> SettingsError:
    said = "another Signoff is already at work on this database. One `run` or one `worker` advances its agents."
    return SettingsError("DATABASE_URL", said, "postgresql://signoff@localhost/another")


def _needs_postgres(command: str, settings: Settings) -> None:
    if settings.sqlite_file:
        said = f"`{command}` shares its database with other processes, and SQLite is for one; `run` needs no other."
        raise SettingsError("DATABASE_URL", said, "postgresql://signoff@localhost/signoff")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
