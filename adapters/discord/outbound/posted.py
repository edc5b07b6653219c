"""Sends and edits messages: idempotent by nonce, unarchives threads, skips edits that change nothing."""

import hashlib
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import discord
from cachetools import LRUCache

from adapters.answers import Attachment
from adapters.discord.api.client import UNKNOWN_MESSAGE, DiscordApi, DiscordRefused, is_archived
from adapters.discord.outbound.message import DiscordMessage
from agent_core.errors import ThreadGone

T = TypeVar("T")

MAX_REMEMBERED_MESSAGES = 5_000
MAX_SEARCHED = 100
MAX_CLOCK_SKEW = timedelta(minutes=2)
LOWEST_MARK = 2**30  # Discord counts the components of a message from 1; marks are 32-bit numbers too


@dataclass(slots=True, kw_only=True)
class DiscordSender:
    """`drawn` tells what messages show already; it may be lost, then more is sent."""

    calls: DiscordApi
    drawn: LRUCache[int, bytes] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED_MESSAGES))

    async def post(self, place: int, message: DiscordMessage, nonce: str) -> int:
        """Send a message and return its id. Discord sends what has the same nonce once within some minutes."""
        there = self._messageable(place)
        sent = await self.in_open_thread(
            place, lambda: there.send(view=ready(message, nonce), files=files_of(message), nonce=nonce)
        )
        self._remember(sent.id, message)
        return sent.id

    async def edit(self, place: int, message_id: int, message: DiscordMessage, nonce: str) -> bool:
        """Say whether the message is there; where it looks the same already nothing is sent."""
        view = ready(message, nonce)
        if self.drawn.get(message_id) == message.digest:
            return True
        standing = self._messageable(place).get_partial_message(message_id)
        try:
            await self.in_open_thread(place, lambda: standing.edit(view=view, attachments=files_of(message)))
        except DiscordRefused as refused:
            if refused.code == UNKNOWN_MESSAGE:
                return False
            raise
        self._remember(message_id, message)
        return True

    async def find_posted(self, place: int, nonce: str, since: datetime) -> int:
        """The id of what was sent with this nonce among the newest messages, or 0."""

        async def look() -> int:
            after = since - MAX_CLOCK_SKEW
            async for message in self._messageable(place).history(limit=MAX_SEARCHED, after=after, oldest_first=False):
                if self._is_ours(message) and is_marked(message, nonce):
                    return message.id
            return 0

        return await self.calls.ask(look)

    async def in_open_thread(self, place: int, act: Callable[[], Awaitable[T]]) -> T:
        """Do it, in a thread that is opened again where it was archived."""
        client = self.calls.client
        if client.is_ready() and client.get_channel(place) is None:  # discord.py forgets threads that were archived
            await self._open_again(place)
        try:
            return await self.calls.ask(act)
        except ThreadGone as gone:
            if not is_archived(gone):
                raise
        await self._open_again(place)
        return await self.calls.ask(act)

    async def channel(self, place: int) -> object:
        """A channel or thread, as it is known or as Discord answers."""
        client = self.calls.client
        await self.calls.ensure_login()
        return client.get_channel(place) or await self.calls.ask(lambda: client.fetch_channel(place))

    def forget(self, message_id: int) -> None:
        """Have the message edited, whatever it shows."""
        self.drawn.pop(message_id, None)

    async def _open_again(self, place: int) -> None:
        thread = await self.calls.ask(lambda: self.calls.client.fetch_channel(place))
        if isinstance(thread, discord.Thread) and thread.archived:
            await self.calls.ask(lambda: thread.edit(archived=False))

    def _messageable(self, place: int) -> discord.PartialMessageable:
        return self.calls.client.get_partial_messageable(place)

    def _is_ours(self, message: discord.Message) -> bool:
        me = self.calls.client.user
        return me is not None and message.author.id == me.id

    def _remember(self, message_id: int, message: DiscordMessage) -> None:
        self.drawn[message_id] = message.digest


def ready(message: DiscordMessage, nonce: str = "") -> discord.ui.LayoutView:
    """The components to send, with a mark by which they are found again.

    discord.py need not listen for their buttons: those are known by their ids alone.
    """
    view = message.view
    if nonce and view.children:
        view.children[0].id = mark_of(nonce)
    view.stop()
    return view


def files_of(message: DiscordMessage) -> list[discord.File]:
    """The files beside the components, to be sent once."""
    return [file_of(file) for file in message.files]


def file_of(file: Attachment) -> discord.File:
    """A file as discord.py sends it."""
    return discord.File(io.BytesIO(file.data), filename=file.name)


def is_marked(message: discord.Message, nonce: str) -> bool:
    """Whether a message was sent with this nonce."""
    return any(getattr(part, "id", None) == mark_of(nonce) for part in message.components)


def mark_of(nonce: str) -> int:
    """The number that the first component carries."""
    return LOWEST_MARK + int.from_bytes(hashlib.sha256(nonce.encode()).digest()[:4], "big") % LOWEST_MARK
