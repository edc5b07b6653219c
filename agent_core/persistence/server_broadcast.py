"""Messages between processes by PostgreSQL's LISTEN and NOTIFY, on two connections of their own.

A connection pooler in transaction mode does not pass them on; then all that is lost is speed.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable

import psycopg
from sqlalchemy import make_url

from agent_core.persistence.connections import CONNECT_ARGUMENTS, SERVER_OPTIONS, STATEMENT_SECONDS
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
_NOTIFY = "SELECT pg_notify(%s, message) FROM unnest(%s::text[]) AS message"
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
            except* (OSError, psycopg.Error) as errors:
                self._failures += 1
                if self._failures == TOLD_FAILURE and not self._outages.is_on:
                    why = type(errors.exceptions[0]).__name__
                    logger.warning("no messages between processes, trying again", extra={"why": why})
            await self._clock.sleep(RETRY_SECONDS)

    async def _exchange(self) -> None:
        async with await self._connect() as listening, await self._connect() as sending:
            await listening.execute(f"LISTEN {CHANNEL}")
            self._failures = 0
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen(listening), name="broadcast listening")
                tasks.create_task(self._send(sending), name="broadcast sending")

    async def _connect(self) -> "psycopg.AsyncConnection[tuple[object, ...]]":
        limit = f"{SERVER_OPTIONS} -c statement_timeout={1000 * STATEMENT_SECONDS}"
        return await psycopg.AsyncConnection.connect(
            self._address,
            autocommit=True,
            options=limit,
            tcp_user_timeout=1000 * STATEMENT_SECONDS,
            **CONNECT_ARGUMENTS,
        )

    async def _listen(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        """Receive. Regular questions let a lost connection be noticed."""
        while True:
            async for notice in connection.notifies(timeout=CHECK_SECONDS):
                self._receive(notice.payload)
            await connection.execute(_CHECK)

    async def _send(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        while True:
            if messages := list(self._waiting)[:MAX_AT_ONCE]:
                await connection.execute(_NOTIFY, (CHANNEL, messages))
            for message in messages:
                self._waiting.pop(message, None)
            if not self._waiting:
                self._has_work.clear()
                await self._has_work.wait()

    def _receive(self, message: str) -> None:
        sender, _, rest = message.partition(":")
        topic, _, key = rest.partition(":")
        if sender == self._own:
            return
        for receive in self._receivers.get(topic, ()):
            try:
                receive(key)
            except Exception:
                logger.exception("a message was not received", extra={"topic": topic})
