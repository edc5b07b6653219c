"""A pool of sessions on a PostgreSQL server, by asyncpg. To take one and give it back costs no round trip."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]
from asyncpg import ConnectionDoesNotExistError, InterfaceError, InternalClientError

from agent_core.persistence.connections import SERVER_OPTIONS, async_url
from agent_core.persistence.outages import is_outage
from agent_core.persistence.server_statements import Session
from agent_core.ports.loop_share import let_others_run

T = TypeVar("T")

MAX_SESSIONS, MAX_IDLE = 15, 5
WAIT_SECONDS = 30.0  # for a session, while all are taken
FRESH_SECONDS = 1.0  # what answered within them is there
CLOSE_SECONDS = 2.0  # for asking the server to end what still runs
OF_SQLALCHEMY = ("prepared_statement_cache_size",)  # an address may have it for the engines; asyncpg refuses it


class ServerPool:
    """Sessions are opened when they are needed, and the one used last is used first."""

    def __init__(self, url: str, statement_seconds: float, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._options = _options(url) | {**SERVER_OPTIONS, "command_timeout": statement_seconds}
        self._places = asyncio.Semaphore(MAX_SESSIONS)
        self._max_idle = MAX_IDLE
        self._idle: list[tuple[Session, float]] = []  # and when it answered last, the newest at the end

    async def run(self, work: Callable[[Session], Awaitable[T]], *, must_answer: bool = False) -> T:
        """Run a function of a session; with `must_answer`, of one that answered within FRESH_SECONDS, or answers now.

        If the caller is cancelled, the server is asked to end what it does, and the session is closed.
        """
        await self._wait_for_place()
        try:
            session = await self._take(must_answer=must_answer)
            try:
                done = await work(session)
            except BaseException as error:
                await self._take_back_after(error, session)
                if isinstance(error, InterfaceError | InternalClientError) and session.is_closed():
                    raise ConnectionDoesNotExistError("The server has ended the session.") from error
                raise
            await self._take_back(session)
            return done
        finally:
            self._places.release()

    async def close(self) -> None:
        """Close what is idle now, and what is in use when it is given back."""
        self._max_idle = 0
        while self._idle:
            await _close(self._idle.pop()[0])

    async def _wait_for_place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        async with asyncio.timeout(WAIT_SECONDS):
            await self._places.acquire()

    async def _take(self, *, must_answer: bool) -> Session:
        while self._idle:
            session, answered_at = self._idle.pop()
            is_fresh = not must_answer or self._elapsed() - answered_at < FRESH_SECONDS
            if not session.is_closed() and (is_fresh or await self._answers(session)):
                return session
        await let_others_run()  # a server that is away may refuse at once, and so each time a caller tries again
        return await asyncpg.connect(**self._options)

    async def _answers(self, session: Session) -> bool:
        """Ask a session; False if it is lost. Raise TimeoutError if the server does not answer at all."""
        try:
            await session.execute("SELECT 1")
        except BaseException as error:
            await self._take_back_after(error, session)
            if isinstance(error, TimeoutError) or not isinstance(error, Exception):
                raise
            return False
        return True

    async def _take_back_after(self, error: BaseException, session: Session) -> None:
        """Close the session unless the error is an answer. After an outage close what is idle, for it is lost too."""
        is_lost = session.is_closed() or is_outage(error)
        if is_lost:
            for idle, _ in self._idle:
                idle.terminate()
            self._idle.clear()
        if is_lost or session.is_in_transaction() or not isinstance(error, Exception):
            await _close(session)
        else:
            await self._take_back(session)

    async def _take_back(self, session: Session) -> None:
        if len(self._idle) < self._max_idle:
            self._idle.append((session, self._elapsed()))
        else:
            await _close(session)


async def _close(session: Session) -> None:
    with suppress(Exception):
        await session.close(timeout=CLOSE_SECONDS)


def _options(url: str) -> dict[str, Any]:
    """The arguments for asyncpg's `connect`."""
    address = async_url(url).difference_update_query(OF_SQLALCHEMY)
    return dict(address.get_dialect()().create_connect_args(address)[1])
