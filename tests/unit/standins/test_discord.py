"""The Discord stand-in behaves as Discord does towards the real discord.py, over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import discord
import pytest
import yarl
from discord import TextChannel
from discord.gateway import DiscordWebSocket
from discord.http import Route
from simcord.backend.models import Channel

from tests.patience import PATIENCE_SECONDS
from tests.standins.discord.gateway import Op
from tests.standins.discord.people import Guild, Person
from tests.standins.discord.rest import SEND
from tests.standins.discord.server import DiscordStandin

EDIT = "PATCH /channels/{id}/messages/{id}"


class Bot(discord.Client):
    """Keeps what people write."""

    def __init__(self, *, content: bool = True) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, message_content=content)
        super().__init__(intents=intents, heartbeat_timeout=1, guild_ready_timeout=0.01)
        self.heard: list[str] = []
        self.asked = asyncio.Event()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait for nothing."""

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message.content)
        self.asked.set()
        self.asked = asyncio.Event()

    async def hears(self, number: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.heard) < number:
                await self.asked.wait()


@dataclass
class Place:
    """A Discord with a server, a channel and a person."""

    discord: DiscordStandin
    guild: Guild
    general: Channel
    ana: Person
    bots: list[Bot] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, bot: Bot | None = None) -> AsyncIterator[Bot]:
        bot = bot or Bot()
        at_work = asyncio.create_task(bot.start(self.discord.token))
        try:
            await self.discord.gateway.connected(identified=self.discord.gateway.count(Op.IDENTIFY) + 1)
            await bot.wait_until_ready()
            yield bot
        finally:
            await bot.close()
            await asyncio.gather(at_work, return_exceptions=True)

    def channel(self, bot: Bot) -> TextChannel:
        found = bot.get_channel(self.general.id)
        assert isinstance(found, TextChannel)
        return found


@pytest.fixture
async def place(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with DiscordStandin.started() as standin:
        monkeypatch.setattr(Route, "BASE", standin.api_url)
        monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(standin.gateway_url))
        guild = standin.guild()
        yield Place(standin, guild, guild.channel("general"), guild.person("ana"))
        assert standin.warnings == []


async def test_a_broken_line_is_resumed_and_what_was_missed_is_told(place: Place) -> None:
    async with place.running() as bot:
        place.discord.gateway.cut()
        place.ana.writes(place.general, "are you there?")
        await place.discord.gateway.connected(resumed=1)
        await bot.hears(1)
        assert bot.heard == ["are you there?"]
        assert place.discord.gateway.count(Op.IDENTIFY) == 1


async def test_a_bot_that_is_asked_to_reconnect_resumes(place: Place) -> None:
    async with place.running() as bot:
        place.discord.gateway.asks_to_reconnect()
        await place.discord.gateway.connected(resumed=1)
        place.ana.writes(place.general, "back?")
        await bot.hears(1)


async def test_an_invalid_session_identifies_anew_and_what_was_missed_stays_missed(place: Place) -> None:
    async with place.running() as bot:
        place.discord.gateway.cut()
        place.discord.gateway.forgets()
        place.ana.writes(place.general, "lost")
        await place.discord.gateway.connected(identified=2, resumed=1)
        place.ana.writes(place.general, "heard")
        await bot.hears(1)
        assert bot.heard == ["heard"]


@pytest.mark.slow
async def test_heartbeats_that_nobody_acknowledges_end_the_connection(place: Place) -> None:
    place.discord.gateway.heartbeat_interval = 100
    async with place.running():
        place.discord.gateway.acknowledges = False
        await place.discord.gateway.connected(resumed=1)


@pytest.mark.slow
async def test_a_silent_gateway_acknowledges_and_tells_nothing(place: Place) -> None:
    async with place.running() as bot:
        gateway = place.discord.gateway
        with gateway.silent():
            place.ana.writes(place.general, "lost")
            beats = gateway.count(Op.HEARTBEAT)
            await place.discord.until(lambda: gateway.count(Op.HEARTBEAT) > beats + 1)
        place.ana.writes(place.general, "heard")
        await bot.hears(1)
        assert bot.heard == ["heard"]


@pytest.mark.slow
@pytest.mark.parametrize("route", [SEND, EDIT])
async def test_the_bot_waits_as_long_as_it_is_told(place: Place, route: str) -> None:
    async with place.running() as bot:
        first = await place.channel(bot).send("first")
        place.discord.fails(route, retry_after="0.3")
        before = len(place.discord.calls_of(route))
        await (first.edit(content="changed") if route == EDIT else place.channel(bot).send("second"))
        refused, done = place.discord.calls_of(route)[before:]
        assert done.at - refused.at >= 0.3


async def test_the_same_nonce_sends_one_message(place: Place) -> None:
    async with place.running() as bot:
        sent = [await place.channel(bot).send("once", nonce="n1") for _ in range(2)]
        assert sent[0].id == sent[1].id
        assert len(place.guild.messages(place.general)) == 1


async def test_a_wrong_token_is_refused(place: Place) -> None:
    bot = Bot()
    with pytest.raises(discord.LoginFailure):
        await bot.start("wrong")
    await bot.close()


async def test_the_content_of_messages_needs_its_intent_and_that_its_grant(place: Place) -> None:
    async with place.running(Bot(content=False)) as bot:
        place.ana.writes(place.general, "secret")
        await bot.hears(1)
        assert bot.heard == [""]
    place.discord.grants_content = False
    refused = Bot()
    with pytest.raises(discord.PrivilegedIntentsRequired):
        await refused.start(place.discord.token)
    await refused.close()
