"""Locks on a database, for SQLite and PostgreSQL: of engines, of an import, and of the leader.

On SQLite, one engine at a time: a lock on a file beside the database's. On PostgreSQL many engines share a lock, which
only an import takes for itself, and of the processes that could listen to a platform one is the leader: advisory locks
of a session of its own. The system or the server releases a lock when the process ends, however that happens.
"""

import asyncio
import math
import zlib
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import NullPool

from agent_core.errors import DatabaseAway, EngineTaken
from agent_core.persistence.connections import STATEMENT_SECONDS, is_outage, make_server_engine, translate_outage
from agent_core.ports.clock import Clock
from agent_core.ports.engine import EngineLock

ENGINE_KEY = 0x5349_474E  # the number of this lock among the database's advisory locks: "SIGN" in ASCII
LEADER_KEYS = 0x5349_474C << 32  # and a checksum of what is led
CHECK_SECONDS = 1.0
LEADER_GRACE = 3.0  # seconds; another process may lead by then
_TAKE = text("SELECT pg_try_advisory_lock(:key)")
_SHARE = text("SELECT pg_try_advisory_lock_shared(:key)")
_RELEASE = text("SELECT pg_advisory_unlock_all()")
_CHECK = text("SELECT 1")


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


class ServerLock:
    """A lock of a PostgreSQL database. It ends with its session; if the session is lost, it is taken again.

    `grace`: after so many seconds without the lock, it counts as taken by another process.
    """

    def __init__(self, url: str, clock: Clock, key: int, *, is_shared: bool, grace: float = math.inf) -> None:
        self._engine = make_server_engine(url, STATEMENT_SECONDS, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._clock, self._key = clock, key
        self._take, self._grace = _SHARE if is_shared else _TAKE, grace
        self._session: AsyncConnection | None = None

    async def acquire(self) -> None:
        with translate_outage():
            session = await self._engine.connect()
            try:
                if await session.scalar(self._take, {"key": self._key}):
                    self._session = session
            finally:
                if self._session is not session:
                    await session.close()
        if self._session is None:
            raise EngineTaken

    async def watch(self) -> None:
        held_at = self._clock.elapsed()
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            if not await self._is_held():
                await self._take_again()
            if self._session is not None:
                held_at = self._clock.elapsed()
            elif self._clock.elapsed() - held_at > self._grace:
                raise EngineTaken

    async def release(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            if not session.invalidated:  # by a check that was cancelled; its session ends with the connection
                await session.scalar(_RELEASE)  # a server may end a session some time after it was closed
        except Exception as error:
            if not is_outage(error):
                raise
        finally:
            await session.close()

    async def _is_held(self) -> bool:
        try:
            return self._session is not None and await self._session.scalar(_CHECK) == 1
        except Exception as error:
            if not is_outage(error):
                raise
            return False

    async def _take_again(self) -> None:
        session, self._session = self._session, None
        with suppress(DatabaseAway):  # the next look tries again
            if session is not None:
                await session.close()
            await self.acquire()


def engine_lock(url: str, clock: Clock) -> EngineLock:
    """The lock of a process that works on this database: on PostgreSQL, others may have it too."""
    return _file_lock(url) or ServerLock(url, clock, ENGINE_KEY, is_shared=True)


def import_lock(url: str, clock: Clock) -> EngineLock:
    """The lock of an import: nothing else works on this database."""
    return _file_lock(url) or ServerLock(url, clock, ENGINE_KEY, is_shared=False)


def leader_lock(url: str, clock: Clock, led: str, grace: float = LEADER_GRACE) -> EngineLock:
    """The lock of the one process that does what `led` names. It is lost after `grace` seconds without the database."""
    key = LEADER_KEYS | zlib.crc32(led.encode())
    return _file_lock(f"{url}.{led}") or ServerLock(url, clock, key, is_shared=False, grace=grace)


def _file_lock(url: str) -> EngineLock | None:
    address = make_url(url)
    return FileEngineLock(Path(address.database or "")) if address.get_backend_name() == "sqlite" else None
