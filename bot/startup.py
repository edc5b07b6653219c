"""The start of a process that runs on: waits for a database server, assembles the process, takes its locks or lead."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from aiohttp import web
from filelock import Timeout

from adapters.web.surface import WebSurface
from agent_core.assembly import Core
from agent_core.errors import DatabaseAway, DatabaseUnreachable, EngineTaken, SettingsError
from agent_core.model.origin import SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.engine import EngineLock
from agent_core.text.lines import counted
from bot.bootstrap import (
    WHAT_TO_CHECK,
    Signoff,
    assemble,
    database_unreachable,
    home_lock,
    make_home,
    system_clock,
)
from bot.logs import say
from bot.platforms.platform import ChatConnection
from bot.release import release
from bot.settings import Settings, digest
from bot.wiring.workspaces import EXAMPLE_DATABASE
from bot.worker import until_one_ends

logger = logging.getLogger(__name__)

STAND_BY_SECONDS = 3.0  # more than the leader needs to take its lock again after a restart of the database


async def lead(job: Callable[[], Awaitable[None]], lock: EngineLock, clock: Clock) -> None:
    """Run the job whenever this process is the leader, until cancelled. Another one takes over when this one ends."""
    while True:
        try:
            await lock.acquire()
        except (EngineTaken, DatabaseAway):
            await clock.sleep(STAND_BY_SECONDS)
            continue
        try:
            await until_one_ends(job(), lock.watch())
        except EngineTaken:
            continue
        finally:
            await lock.release()


RETRY_SECONDS = 1.0
REMINDER_SECONDS = 60.0
Meanwhile = Callable[[], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedProcess:
    """A process that is ready to work, and the lock that it holds. `chats`: the connections to chat platforms."""

    signoff: Signoff
    chats: Mapping[SurfaceName, ChatConnection]
    lock: EngineLock

    @property
    def routes(self) -> Sequence[web.RouteDef]:
        return tuple(route for chat in self.chats.values() for route in chat.routes)

    @property
    def heard(self) -> Mapping[str, Callable[[], datetime | None]]:
        return {name: partial(getattr, chat, "heard_at") for name, chat in self.chats.items()}

    @property
    def jobs(self) -> tuple[Awaitable[None], ...]:
        """What every process does beside its own work: keep the lock, exchange messages with the others."""
        return self.lock.watch(), self.signoff.broadcast.run()

    def listen(self) -> tuple[Awaitable[None], ...]:
        """Receive the events of each platform."""
        return tuple(self._listen(name, chat) for name, chat in self.chats.items())

    async def _listen(self, name: SurfaceName, chat: ChatConnection) -> None:
        """Receive the events of a platform, with several processes in one of them if the platform needs that."""
        if not chat.has_one_listener:
            return await chat.run()
        return await lead(chat.run, self.signoff.leader_lock(name), self.signoff.core.clock)


@dataclass(slots=True, kw_only=True)
class OutageReminder:
    """Tells the operator that the database does not answer, once a minute what to check, and when the wait ends."""

    database: str
    clock: Clock
    tell: Callable[[str], None]
    is_begun: bool = False
    begun: float = 0.0
    told: float = 0.0

    def remind(self, why: object) -> None:
        now = self.clock.elapsed()
        if not self.is_begun:
            self.is_begun, self.begun, self.told = True, now, now
            self.tell(f"{self.database} does not answer: the start waits for it. {why}")
        elif now - self.told >= REMINDER_SECONDS:
            self.told = now
            minutes = counted(int((now - self.begun) // REMINDER_SECONDS), "minute")
            self.tell(f"{self.database} has not answered for {minutes}. {why} {WHAT_TO_CHECK}")

    def end(self) -> None:
        """Tell that the wait is over, if there was one."""
        if self.is_begun:
            self.tell(f"{self.database} answers: the start goes on.")


@asynccontextmanager
async def start_process(
    settings: Settings, surface: WebSurface, *, meanwhile: Meanwhile = nullcontext
) -> AsyncIterator[StartedProcess]:
    """Assemble a process with its chat platforms, test their tokens and take the lock; raise SettingsError.

    A database server that does not answer is waited for, inside of `meanwhile`.
    """
    reminder = OutageReminder(database=settings.shown_database, clock=system_clock(), tell=say)
    async with AsyncExitStack() as stack, AsyncExitStack() as waiting:
        while True:
            try:
                process = await stack.enter_async_context(_assemble_process(settings, surface))
            except (DatabaseUnreachable, DatabaseAway) as away:
                if settings.sqlite_file:
                    raise database_unreachable(settings) from away
                why = away.__cause__ if isinstance(away, DatabaseUnreachable) else away
            else:
                await waiting.aclose()
                reminder.end()
                logger.info("signoff starts", extra={"version": release(), "settings": digest(settings)})
                yield process
                return
            if not reminder.is_begun:
                await waiting.enter_async_context(meanwhile())
            reminder.remind(why)
            await reminder.clock.sleep(RETRY_SECONDS)


@asynccontextmanager
async def _assemble_process(settings: Settings, surface: WebSurface) -> AsyncIterator[StartedProcess]:
    async with assemble(settings, surface, with_platforms=True) as signoff:
        surface.hub.join(signoff.broadcast)
        chats = signoff.connections()
        for chat in chats.values():
            await chat.prepare()
        async with engine_locked(signoff) as lock:
            yield StartedProcess(signoff=signoff, chats=chats, lock=lock)


@contextmanager
def only_engine_of_home(settings: Settings) -> Iterator[None]:
    """On SQLite, lock the data folder for one engine; raise SettingsError if another engine holds the lock."""
    make_home(settings)
    if not settings.sqlite_file:
        yield
        return
    try:
        with home_lock(settings):
            yield
    except Timeout as taken:
        said = f"another Signoff is already at work in {settings.home}."
        raise SettingsError("SIGNOFF_HOME", said, ".signoff-2") from taken


@contextmanager
def engine_of_home_if_free(settings: Settings) -> Iterator[bool]:
    """On SQLite, lock the data folder if no other engine holds the lock; whether this process is the engine.

    On PostgreSQL it is not, because other processes are.
    """
    make_home(settings)
    if not settings.sqlite_file:
        yield False
        return
    lock = home_lock(settings)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def is_engine_at_work(settings: Settings) -> bool:
    """Whether another process holds the lock of the data folder. The lock is tried and released at once."""
    try:
        with home_lock(settings):
            return False
    except Timeout:
        return True


def is_stopping(core: Core) -> bool:
    """Whether this process is about to end, and it is the only worker."""
    return core.loop.draining.is_requested and core.engine.workers <= 1


@asynccontextmanager
async def engine_locked(signoff: Signoff) -> AsyncIterator[EngineLock]:
    """Lock the database against imports and, on SQLite, against other engines; raise SettingsError if it is taken."""
    lock = signoff.engine_lock()
    try:
        try:
            await lock.acquire()
        except DatabaseAway as away:
            raise database_unreachable(signoff.settings) from away
        if signoff.settings.sqlite_file:  # on PostgreSQL others are at work, and a worker's death is noticed
            await signoff.core.ledger.charge_left_by_others()
        yield lock
    except EngineTaken as taken:
        raise _database_taken(signoff.settings) from taken
    finally:
        await lock.release()


def _database_taken(settings: Settings) -> SettingsError:
    if settings.sqlite_file:
        said = "another Signoff is already at work on this database. SQLite is for one process at a time."
        return SettingsError("DATABASE_URL", said, "sqlite:////var/lib/signoff/other.db")
    said = "an import into this database is under way: start again when it is done."
    return SettingsError("DATABASE_URL", said, "postgresql://signoff@localhost/another")


def require_postgres(command: str, settings: Settings) -> None:
    """Raise SettingsError on SQLite."""
    if settings.sqlite_file:
        said = f"`{command}` shares its database with other processes, and SQLite is for one; `run` needs no other."
        raise SettingsError("DATABASE_URL", said, EXAMPLE_DATABASE)
