"""A lock on the database, so that one process at a time advances its agents.

On SQLite it is a lock on a file beside the database's, on PostgreSQL an advisory lock of a session of its own. The
system or the server releases it when the process ends, however that happens.
"""

import asyncio
import logging
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncConnection

from agent_core.errors import DatabaseAway, EngineTaken
from agent_core.persistence.connections import STATEMENT_SECONDS, make_engine
from agent_core.persistence.outages import is_outage, translate_outage
from agent_core.ports.clock import Clock
from agent_core.ports.engine import EngineLock

logger = logging.getLogger(__name__)

LOCK_KEY = 0x5349_474E  # the number of this lock among the database's advisory locks: "SIGN" in ASCII
CHECK_SECONDS, RETRY_SECONDS = 5.0, 0.1
OWN_NAME = "signoff engine "
MAX_TRIES = 20
_TAKE = text("SELECT pg_try_advisory_lock(:key)")
_CHECK = text("SELECT 1")
_NAME = text("SELECT set_config('application_name', :name, false)")
# Sessions of the same owner that hold the lock: what is left of a process that is gone, or of a connection that broke.
_END_OWN = text(
    "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
    "AND objid = :key AND application_name = :name AND pid <> pg_backend_pid()"
)


class FileEngineLock:
    """The lock of a SQLite database."""

    def __init__(self, database: Path) -> None:
        file = database.resolve()
        self._lock = FileLock(file.with_name(f"{file.name}.lock"), blocking=False)

    async def acquire(self) -> None:
        try:
            self._lock.acquire()
        except Timeout as taken:
            raise EngineTaken from taken

    async def watch(self) -> None:
        """Wait until cancelled: a lock on a file is not lost."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        self._lock.release()


class ServerEngineLock:
    """The lock of a PostgreSQL database. It is lost with its session, and taken again when the server is back."""

    def __init__(self, url: str, clock: Clock, owner: str) -> None:
        self._engine, self._clock, self._name = make_engine(url, STATEMENT_SECONDS), clock, f"{OWN_NAME}{owner}"
        self._session: AsyncConnection | None = None

    async def acquire(self) -> None:
        with translate_outage():
            session = await self._engine.connect()
            try:
                await session.execute(_NAME, {"name": self._name})
                if await self._is_taken(session):
                    self._session = session
            finally:
                if self._session is not session:
                    await session.close()
        if self._session is None:
            raise EngineTaken

    async def _is_taken(self, session: AsyncConnection) -> bool:
        """Take the lock, if need be from a session that this engine has left at the server."""
        for _ in range(MAX_TRIES):
            if await session.scalar(_TAKE, {"key": LOCK_KEY}):
                return True
            ended = await session.execute(_END_OWN, {"key": LOCK_KEY, "name": self._name})
            if not ended.all():
                return False
            await self._clock.sleep(RETRY_SECONDS)  # the server ends a session after its present statement
        return False

    async def watch(self) -> None:
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            if not await self._is_held():
                await self._take_again()

    async def release(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        await self._engine.dispose()  # the lock ends with the connection

    async def _is_held(self) -> bool:
        try:
            return self._session is not None and await self._session.scalar(_CHECK) == 1
        except Exception as error:
            if not is_outage(error):
                raise
            return False

    async def _take_again(self) -> None:
        session, self._session = self._session, None
        try:
            if session is not None:
                await session.close()
            await self.acquire()
        except DatabaseAway as away:
            logger.warning("the lock on the database is lost, trying again", extra={"why": str(away)})


def engine_lock(url: str, clock: Clock, owner: str) -> EngineLock:
    """The lock of the database with this address.

    `owner`: at most 40 ASCII characters that no other engine has at the same time, and that the same one has after a
    restart. A session that such an engine left at the server is ended.
    """
    address = make_url(url)
    if address.get_backend_name() != "sqlite":
        return ServerEngineLock(url, clock, owner)
    return FileEngineLock(Path(address.database or ""))
