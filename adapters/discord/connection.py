"""The connection to Discord: the gateway client, its listeners, and the catch-up of missed messages."""

import asyncio
import hashlib
import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import discord
from aiohttp import ClientError, web
from discord import app_commands
from discord.webhook.async_ import async_context

from adapters.chat.catchup import HEARTBEAT_SECONDS, CatchUp
from adapters.discord.api.base_urls import BaseUrls, RedirectedAnswers
from adapters.discord.api.client import LOGIN_REMEDY, DiscordApi
from adapters.discord.inbound.catchup import DiscordThreadReader
from adapters.discord.inbound.clicks import DiscordClickListener, is_shown, parts_of, said_by
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.downloads import read_file
from adapters.discord.inbound.messages import DiscordMessageListener
from adapters.discord.inbound.modals import DiscordModalListener
from adapters.discord.inbound.slash import DiscordSlashListener, commands_of
from agent_core.errors import DatabaseAway, SurfaceError
from agent_core.model.channels import ChannelScope
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

logger = logging.getLogger(__name__)

RETRY_SECONDS = 20.0
MAX_SILENCE = timedelta(minutes=10)  # a bot at work hears at least its own messages
AUTHENTICATION_FAILED = (
    4004  # how the gateway closes, https://discord.com/developers/docs/topics/opcodes-and-status-codes
)
GLOBAL_SCOPE, COMMANDS_KEY = ChannelScope("discord", "", ""), "commands"
NO_CONTENT = (
    "the Message Content intent is off: Signoff cannot read replies in threads, so use the Reply button. "
    "Turn the intent on under Bot in the developer portal"
)


class SignoffClient(discord.Client):
    """Listens to no more than it needs; `intents_used` may gain message content until it connects."""

    def __init__(self, addresses: BaseUrls) -> None:
        # discord.py would warn in the log that it cannot speak, which nobody asked for.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        self.intents_used = discord.Intents(guilds=True, guild_messages=True)
        super().__init__(
            intents=self.intents_used,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            max_ratelimit_timeout=30.0,
            enable_debug_events=False,
        )
        addresses.redirect(self.http)
        self.http.get_from_cdn = read_file  # type: ignore[method-assign]
        self.tree = app_commands.CommandTree(self)
        self.connection: DiscordConnection | None = None

    async def setup_hook(self) -> None:
        """Ask for the text of messages where that was granted."""
        granted = self.application.flags if self.application else discord.ApplicationFlags()
        if granted.gateway_message_content or granted.gateway_message_content_limited:
            self.intents_used.message_content = True
        if self.connection and not self.intents_used.message_content:
            logger.warning(NO_CONTENT)

    async def on_ready(self) -> None:
        """A new session: what was said before it never comes by itself."""
        if self.connection:
            await self.connection.tell_commands()
        for guild in self.guilds:
            await self._began(guild)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server came back that was away."""
        if self.is_ready():
            await self._began(guild)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """Signoff was invited, perhaps again."""
        await self.on_guild_available(guild)

    async def _began(self, guild: discord.Guild) -> None:
        if self.connection:
            await self.connection.began(guild)

    async def on_socket_event_type(self, _event: str) -> None:
        if self.connection:
            self.connection.heard_at = self.connection.context.clock.now()

    async def on_message(self, message: discord.Message) -> None:
        if self.connection:
            await self.connection.messages.take(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Somebody sent a form, or pressed what their card does not show any more; the rest comes by its own way."""
        if self.connection is None:
            return
        if interaction.type is discord.InteractionType.modal_submit:
            await self.connection.forms.submit(interaction)
        elif interaction.type is discord.InteractionType.component and not is_shown(interaction):
            await self.connection.clicks.press(interaction, said_by(interaction))


@dataclass(slots=True, kw_only=True)
class DiscordConnection:
    """Takes what Discord sends.

    `behind` is how many times what was missed is still to be read: until then nothing counts as heard. `heard_at` is
    when the gateway last sent anything; after `silence` the threads are looked into, at `looked_at` for the last time.
    """

    client: SignoffClient
    calls: DiscordApi
    context: DiscordContext
    database: Database
    addresses: BaseUrls
    behind: int = 0
    heard_at: datetime | None = None
    looked_at: datetime | None = None
    silence: timedelta = MAX_SILENCE
    clicks: DiscordClickListener = field(init=False)
    messages: DiscordMessageListener = field(init=False)
    forms: DiscordModalListener = field(init=False)
    catch_up: CatchUp = field(init=False)

    def __post_init__(self) -> None:
        slash, self.clicks = DiscordSlashListener(self.context), DiscordClickListener(self.context)
        self.messages, self.forms = DiscordMessageListener(self.context), DiscordModalListener(self.context)
        reader = DiscordThreadReader(self.context, self.messages)
        self.catch_up = CatchUp(surface="discord", context=self.context, read_thread=reader.read)
        self.client.tree.add_command(commands_of(slash))
        self.client.add_dynamic_items(*parts_of(self.clicks))
        self.client.connection = self

    @property
    def routes(self) -> tuple[web.RouteDef, ...]:
        """None: Discord is heard by its gateway alone."""
        return ()

    async def prepare(self) -> None:
        """Find out whether the token works; raise SettingsError when Discord refuses it. Discord may be away."""
        try:
            await self.calls.prepare()
        except SurfaceError as fault:
            logger.warning("discord unreachable, retrying", extra={"why": str(fault)})

    async def run(self) -> None:
        async_context.set(RedirectedAnswers(self.addresses))
        while True:
            with suppress(SurfaceError):
                await self.calls.prepare()
                break
            await self.context.clock.sleep(RETRY_SECONDS)
        await self.tell_commands()
        keeping = asyncio.create_task(self._keep_time())
        try:
            await self._listen()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def tell_commands(self) -> None:
        """Have Discord know the commands, where they changed; what fails is tried at the next session."""
        try:
            await self._tell_changed()
        except (discord.DiscordException, ClientError, OSError, DatabaseAway) as fault:
            logger.warning("command sync failed", extra={"fault": type(fault).__name__})

    async def _listen(self) -> None:
        """Hear the gateway; discord.py comes back by itself, unless Discord says that this is of no use."""
        try:
            await self.client.connect()
        except discord.PrivilegedIntentsRequired:
            self.client.intents_used.message_content = False
            logger.warning(NO_CONTENT)
            await self.client.connect()
        except discord.ConnectionClosed as closed:
            why = LOGIN_REMEDY if closed.code == AUTHENTICATION_FAILED else "Fix this and restart Signoff."
            logger.warning("discord refuses the connection", extra={"code": closed.code, "why": why})
            await asyncio.Event().wait()  # the other surfaces go on; /healthz tells since when nothing was heard

    async def _tell_changed(self) -> None:
        told = json.dumps([command.to_dict(self.client.tree) for command in self.client.tree.get_commands()])
        digest = hashlib.sha256(f"{self.client.application_id}/{told}".encode()).hexdigest()
        async with self.database.begin() as work:
            known = await work.preferences.get(GLOBAL_SCOPE, COMMANDS_KEY)
        if known == digest:
            return
        await self.client.tree.sync()

        async def note(work: UnitOfWork) -> None:
            work.preferences.put(GLOBAL_SCOPE, COMMANDS_KEY, digest)

        await in_one_unit(self.database, note)

    async def began(self, guild: discord.Guild) -> None:
        """Read what was said while nobody listened."""
        self.behind += 1
        while True:
            try:
                await self.catch_up.read(str(guild.id))
            except DatabaseAway:
                await self.context.clock.sleep(RETRY_SECONDS)
            else:
                self.behind -= 1
                return

    async def look_around(self) -> None:
        """Note that every server is heard. Where nothing came for long, look into the threads.

        A gateway may come back silent, and then a quiet server and a deaf bot look the same.
        """
        now = self.context.clock.now()
        is_silent = self.heard_at is None or now - self.heard_at >= self.silence
        if is_silent and self.looked_at and now - self.looked_at < self.silence:
            return
        self.looked_at = now if is_silent else None
        for guild in self.client.guilds:
            await (self.catch_up.read if is_silent else self.catch_up.keep_time)(str(guild.id))

    async def _keep_time(self) -> None:
        while True:
            await self.context.clock.sleep(HEARTBEAT_SECONDS)
            if not self.behind and self.client.is_ready() and not self.client.is_closed():
                with suppress(DatabaseAway):
                    await self.look_around()
