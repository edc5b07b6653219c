"""The gateway: sessions that outlive their connections, heartbeats, RESUME, and all that goes wrong with them."""

import asyncio
import copy
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import discord
from aiohttp import WSMsgType, web
from simcord import intents as simcord_intents
from simcord.backend import serializers

from tests.standins.discord.state import MESSAGE_CONTENT, Discord
from tests.standins.discord.values import Json

# Opcodes and close codes: docs.discord.com/developers/topics/opcodes-and-status-codes
AUTHENTICATION_FAILED, DISALLOWED_INTENTS = 4004, 4014


class Op(IntEnum):
    """What a message of the gateway is."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE = 3
    RESUME = 6
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    ACK = 11


@dataclass(slots=True, eq=False)
class Connection:
    """A socket that is open, and what waits to be sent through it."""

    request: web.Request
    socket: web.WebSocketResponse
    outgoing: asyncio.Queue[Json] = field(default_factory=asyncio.Queue)
    session: "Session | None" = None

    async def write(self) -> None:
        """Send what is put; as one stream of zlib where the client asked for it."""
        squeezed = zlib.compressobj() if self.request.query.get("compress") == "zlib-stream" else None
        while True:
            text = json.dumps(await self.outgoing.get())
            if squeezed:
                packed = squeezed.compress(text.encode()) + squeezed.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(packed)
            else:
                await self.socket.send_str(text)

    def put(self, op: Op, data: Any = None) -> None:
        """Send something that is not an event."""
        self.outgoing.put_nowait({"op": op, "d": data, "s": None, "t": None})

    def cut(self) -> None:
        """End it as a broken line does: without a word."""
        if self.request.transport:
            self.request.transport.abort()


@dataclass(slots=True, eq=False)
class Session:
    """What a bot was told since it identified, so that it can be told again."""

    id: str
    intents: discord.Intents
    told: list[Json] = field(default_factory=list)
    connection: Connection | None = None

    def tell(self, event: str, data: Any) -> None:
        """Number an event, keep it, and send it where somebody listens."""
        self.told.append({"op": Op.DISPATCH, "d": data, "s": len(self.told) + 1, "t": event})
        if self.connection:
            self.connection.outgoing.put_nowait(self.told[-1])


@dataclass(eq=False, slots=True)
class Gateway:
    """Takes connections in, and hands on what happens in the backend."""

    discord: Discord
    heartbeat_interval: int = 250
    acknowledges: bool = True
    is_silent: bool = False
    sessions: dict[str, Session] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    received: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.discord.backend.subscribers.append(self._happened)

    def count(self, op: Op) -> int:
        """How often the bot sent this opcode."""
        return sum(message["op"] == op for message in self.received)

    async def connected(self, identified: int = 1, resumed: int = 0) -> None:
        """Wait until the bot listens and has identified and resumed so often."""
        await self.discord.until(
            lambda: (
                any(session.connection for session in self.sessions.values())
                and self.count(Op.IDENTIFY) >= identified
                and self.count(Op.RESUME) >= resumed
            )
        )

    def cut(self) -> None:
        """Break all lines; what happens until a RESUME is told then."""
        for connection in tuple(self.connections):
            _leave(connection)
            connection.cut()

    def asks_to_reconnect(self) -> None:
        """Send RECONNECT, as Discord does before it takes a server away."""
        for connection in tuple(self.connections):
            connection.put(Op.RECONNECT)

    def forgets(self) -> None:
        """Remember no session: whoever resumes is told that it is invalid."""
        self.sessions.clear()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Connections live and are acknowledged, but no event comes and none is told later."""
        self.is_silent = True
        try:
            yield
        finally:
            self.is_silent = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One connection, for as long as it lasts."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(request, socket)
        self.connections.append(connection)
        writing = asyncio.create_task(connection.write())
        connection.put(Op.HELLO, {"heartbeat_interval": self.heartbeat_interval})
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self._heard(connection, json.loads(message.data))
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self.connections.remove(connection)
            _leave(connection)
            self.discord.changed()
        return socket

    async def _heard(self, connection: Connection, message: Json) -> None:
        self.received.append(message)
        match message["op"]:
            case Op.HEARTBEAT:
                if self.acknowledges:
                    connection.put(Op.ACK)
            case Op.IDENTIFY:
                await self._identify(connection, message["d"])
            case Op.RESUME:
                await self._resume(connection, message["d"])
            case Op.PRESENCE:
                pass
            case _:
                self.discord.warnings.append(f"The gateway does not know {message}")
        self.discord.changed()

    async def _identify(self, connection: Connection, data: Json) -> None:
        if data["token"] != self.discord.token:
            await connection.socket.close(code=AUTHENTICATION_FAILED, message=b"Authentication failed.")
            return
        if data["intents"] & MESSAGE_CONTENT and not self.discord.grants_content:
            await connection.socket.close(code=DISALLOWED_INTENTS, message=b"Disallowed intent(s).")
            return
        session = Session(f"session-{len(self.received)}", discord.Intents._from_value(data["intents"]))
        self.sessions[session.id] = session
        session.connection, connection.session = connection, session
        self._welcome(session)

    def _welcome(self, session: Session) -> None:
        backend = self.discord.backend
        ready = {
            "v": 10,
            "user": dict(serializers.user_payload(backend.bot_user)),
            "guilds": [{"id": str(guild_id), "unavailable": True} for guild_id in backend.guilds],
            "session_id": session.id,
            "resume_gateway_url": self.discord.gateway_url,
            "application": {"id": str(backend.application_id), "flags": 0},
        }
        session.tell("READY", ready)
        for guild in backend.guilds.values():
            self._tell(session, "GUILD_CREATE", serializers.guild_create_payload(backend, guild))

    async def _resume(self, connection: Connection, data: Json) -> None:
        session = self.sessions.get(data["session_id"])
        if session is None or data["token"] != self.discord.token or data["seq"] > len(session.told):
            connection.put(Op.INVALID_SESSION, data=False)
            return
        session.connection, connection.session = connection, session
        for missed in session.told[data["seq"] :]:
            connection.outgoing.put_nowait(missed)
        session.tell("RESUMED", {})

    def _happened(self, event: str, payload: Mapping[str, Any]) -> None:
        if not self.is_silent:
            for session in self.sessions.values():
                self._tell(session, event, payload)

    def _tell(self, session: Session, event: str, payload: Mapping[str, Any]) -> None:
        """Tell what the bot's intents let it hear, as much of it as they let it read."""
        needed = simcord_intents.required_intent(event, payload)
        if needed and not getattr(session.intents, needed):
            return
        shaped = copy.deepcopy(dict(payload))
        backend = self.discord.backend
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and not session.intents.message_content:
            simcord_intents.censor_message(shaped, backend.bot_user.id, backend=backend)
        if event == "GUILD_CREATE":
            simcord_intents.prune_guild_create(shaped, session.intents, backend.bot_user.id)
        session.tell(event, shaped)


def _leave(connection: Connection) -> None:
    if connection.session and connection.session.connection is connection:
        connection.session.connection = None
