"""Every surface with Signoff at work behind it, opened in one way for the stories that are played on each."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import discord
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from adapters.terminal.surface import CHANNEL as TERMINAL
from adapters.terminal.surface import TerminalSurface, person
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope
from agent_core.ports.models import LanguageModel
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.stage import Stage
from tests.scenario.chat import MakingChat
from tests.scenario.core import CoreChat
from tests.scenario.discord_app import Guild
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.member import GuildChat
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.scenario.slack_app import GENERAL, Office, Transport, at_work
from tests.scenario.team import SlackChat
from tests.scenario.terminal_driver import DeskChat

Name: TypeAlias = Literal["core", "web", "terminal", "slack-http", "slack-socket", "discord"]
Kind: TypeAlias = Literal["member", "guest"]
SURFACES: tuple[Name, ...] = ("core", "web", "terminal", "slack-http", "slack-socket", "discord")
Prepare: TypeAlias = Callable[[Stage], None]
Join: TypeAlias = Callable[[str, Kind], Awaitable[MakingChat]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One surface with Ana at it. `join` brings another person to her channel and agent."""

    name: Name
    ana: MakingChat
    stage: Stage
    channel: ChannelScope
    join: Join

    @property
    def by(self) -> str:
        """How Ana is called: at a terminal by the name of the account."""
        return str(person()) if self.name == "terminal" else "@ana"

    async def agent(self, name: str = "Clerk") -> Agent:
        """An agent of the channel as it is now."""
        agent = await self.stage.views.find_by_name(self.channel, name)
        assert agent
        return agent

    async def change_file(self, path: str, text: str) -> None:
        """Somebody else writes a file of the Clerk's."""
        await self.stage.workspaces.of(await self.agent()).write(path, text.encode())


def unprepared(_stage: Stage) -> None:
    """The stage as it is."""


@asynccontextmanager
async def opened(name: Name, model: LanguageModel, folder: Path, prepare: Prepare = unprepared) -> AsyncIterator[Scene]:
    """Open a surface; `prepare` is given the stage before anybody comes to it."""
    opening = {"core": _core, "web": _web, "terminal": _terminal, "discord": _discord}
    async with opening.get(name, partial(_slack, name))(model, folder, prepare) as there:
        yield there


@asynccontextmanager
async def _core(model: LanguageModel, _folder: Path, prepare: Prepare) -> AsyncIterator[Scene]:
    stage = Stage(model=model)
    prepare(stage)
    ana = CoreChat(stage)

    async def join(name: str, kind: Kind) -> MakingChat:
        chat = CoreChat(stage, replace(ANA, id=f"u-{name}", display=name, kind=kind))
        if hasattr(ana, "agent"):
            chat.agent = ana.agent
        return chat

    async with stage.run():
        yield Scene(name="core", ana=ana, stage=stage, channel=CHANNEL, join=join)


@asynccontextmanager
async def _web(model: LanguageModel, folder: Path, prepare: Prepare) -> AsyncIterator[Scene]:
    stages: list[Stage] = []

    def prepared(stage: Stage) -> None:
        prepare(stage)
        stages.append(stage)

    async with served(model, folder, prepared=prepared) as address, AsyncExitStack() as pages:
        ana = await pages.enter_async_context(PageChat.opened(address, "ana"))

        async def join(name: str, kind: Kind) -> MakingChat:
            assert kind == "member", "the page knows no guests"
            return await pages.enter_async_context(PageChat.opened(address, name, ana.path))

        yield Scene(name="web", ana=ana, stage=stages[0], channel=CHANNEL, join=join)


@asynccontextmanager
async def _terminal(model: LanguageModel, _folder: Path, prepare: Prepare) -> AsyncIterator[Scene]:
    stage = Stage(model=model, surface=TerminalSurface())
    prepare(stage)

    async def join(name: str, _kind: Kind) -> MakingChat:
        raise AssertionError(f"a terminal has one person, who is not {name}")

    async with DeskChat.opened(stage) as ana:
        yield Scene(name="terminal", ana=ana, stage=stage, channel=TERMINAL, join=join)


@asynccontextmanager
async def _slack(name: Name, model: LanguageModel, folder: Path, prepare: Prepare) -> AsyncIterator[Scene]:
    transport: Transport = "http" if name == "slack-http" else "socket"
    async with Office.opened() as office, at_work(office, model, folder, transport=transport) as running:
        prepare(running.stage)
        ana = SlackChat(office, running, office.ana)

        async def join(name: str, kind: Kind) -> MakingChat:
            person = office.ben if name == "ben" else office.team.person(f"U-{name}", name, kind)
            return SlackChat(office, running, person, ana.name)

        yield Scene(name=name, ana=ana, stage=running.stage, channel=GENERAL, join=join)


@asynccontextmanager
async def _discord(model: LanguageModel, folder: Path, prepare: Prepare) -> AsyncIterator[Scene]:
    async with Guild.opened() as guild, at_work_in(guild, model, folder) as running:
        prepare(running.stage)
        ana = GuildChat(guild, running, guild.person("ana"))

        async def join(name: str, kind: Kind) -> MakingChat:
            chat = GuildChat(guild, running, guild.person(name), ana.name, may_write=kind == "member")
            if kind == "guest":
                guild.env.backend.set_overwrite(guild.general.id, _read_only(chat.person.id))
            return chat

        yield Scene(name="discord", ana=ana, stage=running.stage, channel=guild.scope, join=join)


def _read_only(person: int) -> Overwrite:
    """What makes a guest in Discord: somebody who may not write in the channel."""
    denied = discord.Permissions(send_messages=True, send_messages_in_threads=True)
    return Overwrite(target_id=person, type=OverwriteType.MEMBER, allow=0, deny=denied.value)
