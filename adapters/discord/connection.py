"""The connection to Discord: the gateway client, its listeners and slash commands, and the catch-up of messages."""

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

from adapters.chat.catchup import HEARTBEAT_SECONDS, RETRY_SECONDS, CatchUp
from adapters.discord.api.base_urls import BaseUrls, RedirectedAnswers
from adapters.discord.api.client import LOGIN_REMEDY, DiscordApi
from adapters.discord.inbound.clicks import DiscordClickListener, clicked_value, dynamic_items, message_has_button
from adapters.discord.inbound.context import DiscordContext
from adapters.discord.inbound.direct_messages import DiscordDirectListener
from adapters.discord.inbound.downloads import read_file
from adapters.discord.inbound.messages import DiscordMessageListener
from adapters.discord.inbound.modals import DiscordModalListener
from adapters.discord.inbound.slash import DiscordSlashListener, commands_of
from adapters.discord.outbound.notifications import OUR_DIRECT
from agent_core.errors import DatabaseAway, SurfaceError
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

logger = logging.getLogger(__name__)

MAX_SILENCE = timedelta(minutes=10)  # an active bot receives at least its own messages
# A close code of the gateway, https://discord.com/developers/docs/topics/opcodes-and-status-codes
AUTHENTICATION_FAILED = 4004
GLOBAL_SCOPE, COMMANDS_KEY = ChannelScope("discord", "", ""), "commands"
NO_CONTENT = (
    "the Message Content intent is off: Signoff cannot read replies in threads, so use the Reply button. "
    "Turn the intent on under Bot in the developer portal"
)


class SignoffClient(discord.Client):
    """The gateway client, with as few intents as possible; `setup_hook` adds message content if Discord granted it."""

    def __init__(self, addresses: BaseUrls) -> None:
        # suppress discord.py's warning that voice libraries are missing
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
        """Enable the Message Content intent if Discord granted it."""
        granted = self.application.flags if self.application else discord.ApplicationFlags()
        if granted.gateway_message_content or granted.gateway_message_content_limited:
            self.intents_used.message_content = True
        if self.connection and not self.intents_used.message_content:
            logger.warning(NO_CONTENT)

    async def on_ready(self) -> None:
        """Handle a new session: register changed commands, and read messages that Discord did not send meanwhile."""
        if self.connection:
            await self.connection.tell_commands()
        for guild in self.guilds:
            await self._read_missed(guild)

    async def on_connect(self) -> None:
        logger.info("connected", extra={"surface": "discord"})

    on_resumed = on_connect  # the same session goes on

    async def on_disconnect(self) -> None:
        """Log it; discord.py connects again by itself."""
        logger.info("disconnected", extra={"surface": "discord"})

    async def on_guild_available(self, guild: discord.Guild) -> None:
        if self.is_ready():
            await self._read_missed(guild)

    on_guild_join = on_guild_available  # the bot was invited to a server, possibly again

    async def _read_missed(self, guild: discord.Guild) -> None:
        if self.connection:
            await self.connection.read_missed(guild)

    async def on_socket_event_type(self, _event: str) -> None:
        if self.connection:
            self.connection.heard_at = self.connection.context.clock.now()

    async def on_message(self, message: discord.Message) -> None:
        if self.connection:
            await self.connection.messages.take(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Handle submitted forms, and clicks on buttons since removed from the message; discord.py routes the rest."""
        if self.connection is None:
            return
        if interaction.type is discord.InteractionType.modal_submit:
            await self.connection.forms.submit(interaction)
        elif interaction.type is discord.InteractionType.component and not message_has_button(interaction):
            value = clicked_value(interaction)
            clicks = self.connection.direct if OUR_DIRECT.fullmatch(value) else self.connection.clicks
            await clicks.press(interaction, value)


@dataclass(slots=True, kw_only=True)
class DiscordConnection:
    """Receives Discord's events.

    `heard_at`: the time of the gateway's last event.
    `silence`: after this long without an event, the threads are read. `looked_at`: when they were last read.
    """

    client: SignoffClient
    calls: DiscordApi
    context: DiscordContext
    database: Database
    addresses: BaseUrls
    heard_at: datetime | None = None
    looked_at: datetime | None = None
    silence: timedelta = MAX_SILENCE
    clicks: DiscordClickListener = field(init=False)
    direct: DiscordDirectListener = field(init=False)
    messages: DiscordMessageListener = field(init=False)
    forms: DiscordModalListener = field(init=False)
    catch_up: CatchUp = field(init=False)

    def __post_init__(self) -> None:
        slash, self.clicks = DiscordSlashListener(self.context), DiscordClickListener(self.context)
        self.messages, self.forms = DiscordMessageListener(self.context), DiscordModalListener(self.context)
        self.catch_up = CatchUp(surface="discord", context=self.context, read_thread=self.messages.read_thread)
        self.client.tree.add_command(commands_of(slash))
        self.direct = DiscordDirectListener(self.context)
        self.client.add_dynamic_items(*dynamic_items(self.clicks, self.direct))
        self.client.connection = self

    @property
    def has_one_listener(self) -> bool:
        """True: each connection to the gateway is sent every event."""
        return True

    @property
    def routes(self) -> tuple[web.RouteDef, ...]:
        """Empty: Discord's events arrive by the gateway only."""
        return ()

    async def prepare(self) -> None:
        """Test the token; raise SettingsError if Discord rejects it. An unreachable Discord is no error."""
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
            if not self.client.is_closed() and self.client.ws is not None:  # another process listens now
                await self.client.ws.close()

    async def tell_commands(self) -> None:
        """Register the slash commands at Discord if they changed; a failure is retried at the next session."""
        try:
            await self._tell_changed()
        except (discord.DiscordException, ClientError, OSError, DatabaseAway) as fault:
            logger.warning("command sync failed", extra={"fault": type(fault).__name__})

    async def _listen(self) -> None:
        """Receive events; discord.py reconnects by itself. If Discord refuses the bot for good, log why and wait."""
        try:
            await self.client.connect()
        except discord.PrivilegedIntentsRequired:
            self.client.intents_used.message_content = False
            logger.warning(NO_CONTENT)
            await self.client.connect()
        except discord.ConnectionClosed as closed:
            why = LOGIN_REMEDY if closed.code == AUTHENTICATION_FAILED else "Fix this and restart Signoff."
            logger.warning("discord refuses the connection", extra={"code": closed.code, "why": why})
            await asyncio.Event().wait()  # the other surfaces continue; /healthz shows the time of the last event

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

    async def read_missed(self, guild: discord.Guild) -> None:
        """Read the messages that people wrote in a server while Signoff was not connected."""

        async def workspaces() -> list[str]:
            return [str(guild.id)]

        await self.catch_up.read_all(workspaces)

    async def record_read_time(self) -> None:
        """Record that all messages up to now were read.

        If the gateway was silent for `silence`, read the threads first: it may have reconnected without resending
        the events of that time.
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
            if not self.catch_up.behind and self.client.is_ready() and not self.client.is_closed():
                with suppress(DatabaseAway):
                    await self.record_read_time()
