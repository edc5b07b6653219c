"""A Discord server and Signoff at work in it: the real discord.py over simcord, real SQLite; the model is scripted."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import discord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle
from simcord.env import Env

from adapters.discord.connection import DiscordConnection
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.models import LanguageModel
from agent_core.providers.clock import SystemClock
from agent_core.testing.stage import Stage
from bot.platforms.discord.wiring import WiredDiscord
from bot.platforms.platform import PlatformParts
from bot.settings import load
from bot.worker import work
from tests.patience import PATIENCE_SECONDS
from tests.tables import make_tables
from tests.wiring import actions_of

TOKEN = "simcord.fake.token"
ESCAPED = re.compile(r"\\([\\*_~`|<>@#:\[\]().+-])")


@dataclass(slots=True)
class GuildClock:
    """The server's time, which goes on as the machine's does: messages and turns are ordered by one clock."""

    begun: datetime = field(default_factory=SystemClock().now)
    env: Env | None = None

    def now(self) -> datetime:
        """The present."""
        passed = SystemClock().now() - self.begun
        if self.env is None:
            return datetime.fromisoformat("2026-01-01T00:00:00+00:00") + passed
        time = self.env.backend.clock
        time.advance(max(0.0, passed.total_seconds() - time.elapsed))
        return self.env.now()

    def leap(self, time: timedelta) -> None:
        """Let so much time have passed."""
        self.begun -= time
        self.now()

    def elapsed(self) -> float:
        """Seconds on the machine's own clock."""
        return SystemClock().elapsed()

    async def sleep(self, seconds: float) -> None:
        """Return after that time."""
        await SystemClock().sleep(seconds)


@dataclass(slots=True)
class Guild:
    """A server with a channel and two people, once a process of Signoff has entered it."""

    clock: GuildClock = field(default_factory=GuildClock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _env: Env | None = None
    _server: GuildHandle | None = None

    @property
    def env(self) -> Env:
        """The simulation."""
        assert self._env
        return self._env

    @property
    def server(self) -> GuildHandle:
        """The server."""
        assert self._server
        return self._server

    @property
    def general(self) -> ChannelHandle:
        """Its channel."""
        return self.server.channels["general"]

    @property
    def scope(self) -> ChannelScope:
        """The channel as the core knows it."""
        return ChannelScope("discord", str(self.server.id), str(self.general.id))

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator["Guild"]:
        """Open it; what the bot swallowed fails the test at the end."""
        guild = cls()
        try:
            yield guild
        finally:
            if guild._env:
                await guild._env.shutdown()
        guild.env.raise_errors()

    async def enter(self, client: discord.Client) -> None:
        """Have a bot come online."""
        if self._env:
            await self._env.restart_bot(client)
            return
        env = self._env = self.clock.env = Env(client)
        await env.start()
        env.backend.subscribers.append(lambda _event, _payload: self.changed.set())
        server = self._server = env.create_guild()
        server.create_text_channel("general")

    def person(self, name: str) -> MemberActor:
        """Somebody who joined the server."""
        known = [user for user in self.env.backend.users.values() if user.name == name]
        if known:
            return next(actor for actor in self._people if actor.name == name)
        actor = self.server.add_member(self.env.create_user(name))
        self._people.append(actor)
        return actor

    _people: list[MemberActor] = field(default_factory=list)

    def thread(self, name: str = "Clerk") -> ChannelHandle | None:
        """The thread of an agent."""
        return next((thread for thread in self.general.threads if thread.name == name), None)

    def said(self, place: ChannelHandle | None = None) -> list[discord.Message]:
        """All messages of a thread, or of the agent's."""
        there = place or self.thread()
        return there.history() if there else []

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something changed so that this holds."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not happened():
                self.changed.clear()
                await self.changed.wait()

    async def message(self, *texts: str, place: ChannelHandle | None = None) -> discord.Message:
        """A message that says all of this, once there is one."""

        def found() -> list[discord.Message]:
            return [each for each in self.said(place) if all(text in text_of(each) for text in texts)]

        await self.until(lambda: bool(found()))
        return found()[-1]


@dataclass(frozen=True, slots=True)
class Running:
    """Signoff at work."""

    guild: Guild
    stage: Stage
    side: WiredDiscord
    connection: DiscordConnection

    async def agent(self, name: str = "Clerk") -> Agent:
        """An agent of the channel by its name."""
        agent = await self.stage.views.find_by_name(self.guild.scope, name)
        assert agent
        return agent


@asynccontextmanager
async def at_work(
    guild: Guild, model: LanguageModel, folder: Path, *, reads: bool = True, **stage: Any
) -> AsyncIterator[Running]:
    """One process of Signoff; leave the block and enter another to restart it. `reads`: it may read messages."""
    settings = load({"SIGNOFF_HOME": str(folder), "DISCORD_TOKEN": TOKEN}, None)
    await make_tables(settings.database_url)
    database = SqlDatabase(settings.database_url)
    workspaces = FolderWorkspaces(folder / "workspaces")
    parts = PlatformParts(database=database, workspaces=workspaces, clock=guild.clock, model=model)
    side = WiredDiscord.of(settings, parts)
    side.client.intents_used.message_content = reads
    kept: dict[str, Any] = {
        "database": database,
        "clock": guild.clock,
        "workspaces": workspaces,
    }
    played = Stage(model=model, surface=side.surface, **kept, **stage)
    connection = side.connect(actions_of(played), played.core)
    await guild.enter(side.client)
    engine = asyncio.create_task(work(played.engine, played.loop))
    guild.clock.now()  # the time of the start is over: it does not count against the first interaction
    try:
        yield Running(guild, played, side, connection)
    finally:
        engine.cancel()
        await asyncio.gather(engine, return_exceptions=True)
        await side.close()
        await database.close()


def text_of(message: discord.Message) -> str:
    """Everything that can be read in a message."""
    parts = [part.get("content") or part.get("label") or part.get("placeholder") or "" for part in parts_of(message)]
    return "\n".join(ESCAPED.sub(r"\1", text) for text in (message.content, *parts) if text)


def parts_of(message: discord.Message) -> list[dict[str, Any]]:
    """Every component of a message, with those inside of others."""
    return [part for component in message.components for part in walked(dict(component.to_dict()))]


def walked(component: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A component and all in it."""
    if "type" in component:
        yield dict(component)
    inner = [*(component.get("components") or ()), component.get("accessory"), component.get("component")]
    for each in inner:
        if each:
            yield from walked(each)
