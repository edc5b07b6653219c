"""Messages between processes by PostgreSQL's LISTEN and NOTIFY, on a session of their own.

A connection pooler in transaction mode does not pass them on; then all that is lost is speed.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy import make_url

from agent_core.persistence.connections import SERVER_OPTIONS, STATEMENT_SECONDS
from agent_core.persistence.outages import OutageLog
from agent_core.ports.broadcast import Topic
from agent_core.ports.clock import Clock

logger = logging.getLogger(__name__)

CHANNEL = "signoff"
MAX_WAITING = 10_000  # while the server is away; older messages are dropped
MAX_AT_ONCE = 500
MAX_KEY = 200  # characters
CHECK_SECONDS, RETRY_SECONDS = 5.0, 1.0
TOLD_FAILURE = 3  # in a row: by then an outage of the database is known, and told by its own line
_NOTIFY = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message"
_CHECK = "SELECT 1"


class ServerBroadcast:
    """Implements `Broadcast`. A message is "sender:topic:key"; a process drops its own."""

    def __init__(self, url: str, clock: Clock, outages: OutageLog) -> None:
        address = make_url(url).set(drivername="postgresql")
        self._address, self._clock = address.render_as_string(hide_password=False), clock
        self._outages, self._failures = outages, 0
        self._own = secrets.token_hex(8)
        self._receivers: dict[str, list[Callable[[str], None]]] = {}
        self._waiting: dict[str, None] = {}  # each message once, oldest first
        self._has_work = asyncio.Event()

    def publish(self, topic: Topic, key: str) -> None:
        if len(key) > MAX_KEY or not key.isprintable():  # PostgreSQL would refuse it with all others of its batch
            return
        self._waiting[f"{self._own}:{topic}:{key}"] = None
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._has_work.set()

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        self._receivers.setdefault(topic, []).append(receive)

    async def run(self) -> None:
        """Send and receive until cancelled. While the server is away, messages of this process wait."""
        while True:
            try:
                await self._exchange()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
                self._failures += 1
                if self._failures == TOLD_FAILURE and not self._outages.is_on:
                    logger.warning("no messages between processes, trying again", extra={"why": type(error).__name__})
            await self._clock.sleep(RETRY_SECONDS)

    async def _exchange(self) -> None:
        session = await asyncpg.connect(self._address, command_timeout=STATEMENT_SECONDS, **SERVER_OPTIONS)
        checking = asyncio.create_task(self._check_regularly(), name="broadcast check")
        try:
            await session.add_listener(CHANNEL, self._receive)
            self._failures = 0
            self._has_work.set()
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                await self._send(session)
        finally:
            checking.cancel()
            session.terminate()

    async def _check_regularly(self) -> None:
        """Let a lost connection be noticed even if there is nothing to send."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            self._has_work.set()

    async def _send(self, session: asyncpg.Connection) -> None:
        messages = list(self._waiting)[:MAX_AT_ONCE]
        if not messages:
            await session.execute(_CHECK)
            return
        await session.execute(_NOTIFY, CHANNEL, messages)
        for message in messages:
            self._waiting.pop(message, None)
        if self._waiting:
            self._has_work.set()

    def _receive(self, _connection: object, _pid: int, _channel: str, message: str) -> None:
        sender, _, rest = message.partition(":")
        topic, _, key = rest.partition(":")
        if sender == self._own:
            return
        for receive in self._receivers.get(topic, ()):
            try:
                receive(key)
            except Exception:
                logger.exception("a message was not received", extra={"topic": topic})
