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
from agent_core.ports.clock import Clock
from agent_core.ports.engine import Topic

logger = logging.getLogger(__name__)

MAX_WAITING, MAX_KEY = 10_000, 200  # messages, while the server is away; characters
CHECK_SECONDS, RETRY_SECONDS = 5.0, 1.0


class ServerBroadcast:
    """Implements `Broadcast`. A message is "sender:topic:key"; a process drops its own."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._clock, self._own = clock, secrets.token_hex(8)
        self._receivers: dict[str, list[Callable[[str], None]]] = {}
        self._waiting: dict[str, None] = {}  # each message once, oldest first
        self._has_work = asyncio.Event()

    def publish(self, topic: Topic, key: str) -> None:
        # PostgreSQL would refuse a long key, or one with a NUL, with all others of its batch.
        if len(key) <= MAX_KEY and key.isprintable() and len(self._waiting) < MAX_WAITING:
            self._waiting[f"{self._own}:{topic}:{key}"] = None
            self._has_work.set()

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        self._receivers.setdefault(topic, []).append(receive)

    async def run(self) -> None:
        """Send and receive until cancelled. While the server is away, messages of this process wait."""
        options = f"{SERVER_OPTIONS} -c statement_timeout={1000 * STATEMENT_SECONDS}"
        limits = {**CONNECT_ARGUMENTS, "options": options, "tcp_user_timeout": 1000 * STATEMENT_SECONDS}
        while True:
            try:
                async with (
                    await psycopg.AsyncConnection.connect(self._address, autocommit=True, **limits) as listening,
                    await psycopg.AsyncConnection.connect(self._address, autocommit=True, **limits) as sending,
                    asyncio.TaskGroup() as tasks,
                ):
                    tasks.create_task(self._listen(listening), name="broadcast listening")
                    tasks.create_task(self._send(sending), name="broadcast sending")
            except* (OSError, psycopg.Error) as faults:  # an outage is told by the database
                logger.debug("no messages between processes, trying again", extra={"why": repr(faults.exceptions[0])})
            await self._clock.sleep(RETRY_SECONDS)

    async def _listen(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        await connection.execute("LISTEN signoff")
        while True:
            async for notice in connection.notifies(timeout=CHECK_SECONDS):
                self._receive(notice.payload)
            await connection.execute("SELECT 1")  # a lost connection is noticed

    async def _send(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        while True:
            for message in tuple(self._waiting):
                await connection.execute("SELECT pg_notify('signoff', %s)", [message])
                del self._waiting[message]
            await self._has_work.wait()
            self._has_work.clear()

    def _receive(self, message: str) -> None:
        sender, topic, key = message.split(":", 2)
        for receive in self._receivers.get(topic, ()) if sender != self._own else ():
            try:
                receive(key)
            except Exception:
                logger.exception("a message was not received", extra={"topic": topic})
