"""Sends, edits, deletes and finds Discord messages by nonce; opens archived threads; skips edits without change."""

import hashlib
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import discord
from cachetools import LRUCache

from adapters.chat.status_updates import recorded
from adapters.discord.api.client import (
    ARCHIVED,
    GONE_REASONS,
    LOCKED,
    UNKNOWN_MESSAGE,
    DiscordApi,
    DiscordRefused,
    is_archived,
)
from adapters.discord.outbound.message import DiscordMessage
from adapters.typed.answers import Attachment
from agent_core.errors import ThreadGone

T = TypeVar("T")

MAX_REMEMBERED_MESSAGES = 5_000
MAX_SEARCHED = 100
MAX_NONCE = 25  # https://discord.com/developers/docs/resources/message#create-message
NOBODY = discord.AllowedMentions.none()
MAX_CLOCK_SKEW = timedelta(minutes=2)
LOWEST_MARK = 2**30  # above Discord's own component ids, which count from 1; ids are 32-bit numbers


@dataclass(slots=True, kw_only=True)
class DiscordSender:
    """Sends and edits messages. `drawn` caches a hash of each message by place and id, to skip edits without effect."""

    calls: DiscordApi
    drawn: LRUCache[tuple[int, int], bytes] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED_MESSAGES))

    async def post(
        self, place: int, message: DiscordMessage, nonce: str, mentions: discord.AllowedMentions = NOBODY
    ) -> int:
        """Send a message and return its id. Discord ignores a second message with the same nonce for some minutes."""
        there, mark = self._messageable(place), nonce if len(nonce) <= MAX_NONCE else str(mark_of(nonce))
        sent = await self.in_open_thread(
            place,
            lambda: there.send(
                view=ready(message, nonce), files=files_of(message), nonce=mark, allowed_mentions=mentions
            ),
        )
        self.drawn[place, sent.id] = message.digest
        return sent.id

    async def edit(self, place: int, message_id: int, message: DiscordMessage, nonce: str) -> bool:
        """Edit a message, unless it is unchanged; return whether the message exists."""
        view = ready(message, nonce)
        if self.drawn.get((place, message_id)) == message.digest:
            return True
        standing = self._messageable(place).get_partial_message(message_id)
        try:
            with recorded(self.drawn, (place, message_id), message.digest):
                await self.in_open_thread(place, lambda: standing.edit(view=view, attachments=files_of(message)))
        except DiscordRefused as refused:
            if refused.code == UNKNOWN_MESSAGE:
                return False
            raise
        return True

    async def delete(self, place: int, message_id: int) -> None:
        """Delete a message; raise DiscordRefused if it does not exist."""
        standing = self._messageable(place).get_partial_message(message_id)
        await self.in_open_thread(place, standing.delete)
        self.drawn.pop((place, message_id), None)

    async def find_posted(self, place: int, nonce: str, since: datetime) -> int:
        """The id of Signoff's message with this nonce among the newest MAX_SEARCHED since that time, or 0."""

        async def look() -> int:
            after = since - MAX_CLOCK_SKEW
            async for message in self._messageable(place).history(limit=MAX_SEARCHED, after=after, oldest_first=False):
                if message.author == self.calls.client.user and is_marked(message, nonce):
                    return message.id
            return 0

        return await self.calls.ask(look)

    async def in_open_thread(self, place: int, act: Callable[[], Awaitable[T]]) -> T:
        """Run an action in a thread; if the thread is archived, open it and retry."""
        client = self.calls.client
        if client.is_ready() and client.get_channel(place) is None:  # discord.py does not cache archived threads
            await self._open_again(place)
        try:
            return await self.calls.ask(act)
        except ThreadGone as gone:
            if not is_archived(gone):
                raise
        await self._open_again(place)
        return await self.calls.ask(act)

    async def is_usable(self, thread: int) -> bool:
        """Whether a thread exists and is not locked."""
        try:
            found = await self.calls.ask(lambda: self.calls.client.fetch_channel(thread))
        except ThreadGone:
            return False
        return isinstance(found, discord.Thread) and not found.locked

    async def channel(self, place: int) -> object:
        """A channel or thread, from discord.py's cache or from Discord."""
        client = self.calls.client
        await self.calls.ensure_login()
        return client.get_channel(place) or await self.calls.ask(lambda: client.fetch_channel(place))

    def forget(self, place: int, message_id: int = 0) -> None:
        """Forget the hash of a message, or of all in the place: the next edit is sent even if it changes nothing."""
        for key in [each for each in self.drawn if each[0] == place and message_id in (0, each[1])]:
            del self.drawn[key]

    async def _open_again(self, place: int) -> None:
        thread = await self.calls.ask(lambda: self.calls.client.fetch_channel(place))
        if isinstance(thread, discord.Thread) and thread.archived:
            try:
                await self.calls.ask(lambda: thread.edit(archived=False))
            except ThreadGone:
                raise ThreadGone(LOCKED) if thread.locked else ThreadGone(GONE_REASONS[ARCHIVED]) from None

    def _messageable(self, place: int) -> discord.PartialMessageable:
        return self.calls.client.get_partial_messageable(place)


def ready(message: DiscordMessage, nonce: str = "") -> discord.ui.LayoutView:
    """The components to send; the first gets an id made from the nonce, by which `find_posted` finds the message.

    The view is stopped: discord.py need not wait for its clicks, as they are recognized by `custom_id`.
    """
    view = message.view
    if nonce and view.children:
        view.children[0].id = mark_of(nonce)
    view.stop()
    return view


def files_of(message: DiscordMessage) -> list[discord.File]:
    """New file objects for the message's files; each can be sent only once."""
    return [file_of(file) for file in message.files]


def file_of(file: Attachment) -> discord.File:
    return discord.File(io.BytesIO(file.data), filename=file.name)


def is_marked(message: discord.Message, nonce: str) -> bool:
    return any(getattr(part, "id", None) == mark_of(nonce) for part in message.components)


def mark_of(nonce: str) -> int:
    return LOWEST_MARK + int.from_bytes(hashlib.sha256(nonce.encode()).digest()[:4], "big") % LOWEST_MARK
