"""Discord as a ChatSurface: opens a thread at each root message, posts and edits cards, notices, status, files."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import discord

from adapters.chat.agent_messages import notice_screen
from adapters.chat.background import BackgroundTasks
from adapters.chat.status_updates import is_kept_waiting
from adapters.chat.thread_surface import ThreadSurface, thread_of
from adapters.discord.api.client import DiscordRefused
from adapters.discord.api.directory import MemberDirectory
from adapters.discord.outbound.answer_messages import text_message
from adapters.discord.outbound.draw import draw
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.notifications import DiscordNotifications, allowed_mentions
from adapters.discord.outbound.offers import DiscordOffers
from adapters.discord.outbound.posted import DiscordSender, file_of, files_of, is_marked, ready
from adapters.screens.message.pieces import Screen
from adapters.screens.turn_lines import TurnLine
from adapters.screens.visible_text import one_line, visible
from adapters.typed.answers import Attachment
from agent_core.errors import SurfaceError, ThreadGone
from agent_core.model.agent import Agent, Thinking
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef, is_name_of

AUTO_ARCHIVE_MINUTES: Literal[10080] = 10080  # minutes until Discord archives an inactive thread, its maximum
MAX_THREAD_NAME = 100
SEARCH_SECONDS, MAX_FOUND = 5.0, 100  # for the members whose names begin alike
THREAD_EXISTS = 160004
STATUS_DELAY_SECONDS = 0.5  # seconds; shorter states are not shown
NO_THREADS = "This kind of channel has no threads: create the agent in a text channel or a forum."


@dataclass(slots=True, kw_only=True)
class DiscordSurface(ThreadSurface[DiscordMessage]):
    """Shows agents in Discord."""

    sending: DiscordSender
    name: SurfaceName = "discord"
    soon: BackgroundTasks = field(default_factory=BackgroundTasks)
    offers: DiscordOffers = field(default_factory=DiscordOffers)
    members: MemberDirectory = field(init=False)
    notifications: DiscordNotifications = field(init=False)

    def __post_init__(self) -> None:
        self.watch_status(STATUS_DELAY_SECONDS)
        self.members = MemberDirectory(sending=self.sending, clock=self.clock)
        self.notifications = DiscordNotifications(
            sending=self.sending, members=self.members, continuous_limit=self.continuous_limit
        )

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        guild = self.sending.calls.client.get_guild(int(channel.workspace or 0))
        first = next(iter(name.split()), "")
        if guild is None or not first:
            return False
        try:
            async with asyncio.timeout(SEARCH_SECONDS):  # Discord searches by the beginning of a name
                found = await guild.query_members(first, limit=MAX_FOUND)
        except (discord.DiscordException, TimeoutError):
            return True  # to be on the safe side
        people = [each for each in (*guild.members, *found) if not each.bot]
        return is_name_of(
            (called for each in people for called in (each.display_name, each.global_name or "", each.name)), name
        )

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the root message and open its thread, unless they exist."""
        place = await self.sending.channel(int(agent.channel.channel))
        if isinstance(place, discord.ForumChannel):
            thread = await self._post(agent, place)
        elif isinstance(place, discord.TextChannel):
            thread = await self._open_or_find_thread(agent, place)
        else:
            raise ThreadGone(NO_THREADS)
        return ThreadRef(agent.channel, str(thread))

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice in the thread, unless it was already posted."""
        thread = thread_id(agent)
        if may_exist and await self.sending.find_posted(thread, notice.id, notice.at):
            return
        await self.sending.post(thread, draw(notice_screen(agent, notice)), notice.id)

    async def status(self, agent: Agent) -> None:
        """Show the agent's status soon; of several changes in a row only the last is sent. Delete its past offers."""
        self.updates.update(agent)
        for place, message in self.offers.forget_past(agent, self.clock.now()):
            self.soon(self._delete(place, message))

    def forget_shown(self, agent: Agent) -> None:
        """Forget the agent's messages and status."""
        self.edits.sent.clear()
        self.cards.forget(agent)
        self.standing.forget(agent)
        self.updates.forget(agent.id)
        if agent.thread:
            self.sending.forget(thread_id(agent))
            self.sending.forget(int(agent.channel.channel), thread_id(agent))

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Send the owner a direct message that the agent's thread is gone."""
        self.soon(self._say_to(int(agent.owner.id), f"{agent.name} is paused. {reason}"))

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Upload the file to the thread; Discord displays images and plays audio."""
        thread = thread_id(agent)
        there = self.sending.calls.client.get_partial_messageable(thread)
        file = Attachment(visible(filename.rpartition("/")[2]), data)
        await self.sending.in_open_thread(thread, lambda: there.send(file=file_of(file)))

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return await self.members.actor(channel, person)

    async def close(self) -> None:
        await self.soon.close()

    async def _delete(self, place: int, message: int) -> None:
        """Delete an offer. If that fails it stays, and its buttons are refused."""
        with suppress(SurfaceError):
            await self.sending.delete(place, message)

    def draw(self, screen: Screen) -> DiscordMessage:
        return draw(screen)

    async def _find(self, agent: Agent, _message: DiscordMessage, mark: TurnLine) -> str:
        found = await self.sending.find_posted(thread_id(agent), mark.turn, mark.proposed_at)
        return str(found) if found else ""

    async def _post_card(self, agent: Agent, message: DiscordMessage, mark: TurnLine) -> str:
        return str(await self.sending.post(thread_id(agent), message, mark.turn))

    async def _edit_card(self, agent: Agent, stands: str, message: DiscordMessage, mark: TurnLine) -> bool:
        return await self.sending.edit(thread_id(agent), int(stands), message, mark.turn)

    def _forget_drawn(self, agent: Agent, stands: str) -> None:
        self.sending.forget(thread_id(agent), int(stands))

    async def _open_or_find_thread(self, agent: Agent, place: discord.TextChannel, mark: str = "") -> int:
        """Create the root message and its thread, unless they exist; return their common id.

        Discord opens one thread for a message, ever. If that was deleted or locked, there is another root message,
        marked with the id of the one before it.
        """
        mark = mark or agent.id
        root = await self.sending.find_posted(place.id, mark, agent.created_at)
        root = root or await self.sending.post(place.id, self._root(agent), mark, allowed_mentions([agent.owner.id]))
        message = place.get_partial_message(root)
        try:
            await self.sending.calls.ask(
                lambda: message.create_thread(name=title_of(agent), auto_archive_duration=AUTO_ARCHIVE_MINUTES)
            )
        except DiscordRefused as refused:
            if refused.code != THREAD_EXISTS:
                raise
            if not await self.sending.is_usable(root):
                return await self._open_or_find_thread(agent, place, f"{agent.id} {root}")
        return root

    async def _post(self, agent: Agent, place: discord.ForumChannel) -> int:
        """Create a post in a forum, unless it exists; return its id, which its first message shares."""
        for thread in place.threads:
            if (
                not thread.locked
                and thread.created_at
                and thread.created_at >= agent.created_at
                and await self._is_post(thread, agent)
            ):
                return thread.id
        message = self._root(agent)
        post = await self.sending.calls.ask(
            lambda: place.create_thread(
                name=title_of(agent),
                auto_archive_duration=AUTO_ARCHIVE_MINUTES,
                view=ready(message, agent.id),
                files=files_of(message),
                allowed_mentions=allowed_mentions([agent.owner.id]),
            )
        )
        return post.thread.id

    async def _is_post(self, thread: discord.Thread, agent: Agent) -> bool:
        try:
            first = await self.sending.calls.ask(lambda: thread.fetch_message(thread.id))
        except DiscordRefused:
            return False
        return is_marked(first, agent.id)

    async def _send_status(self, agent: Agent) -> None:
        """Show thinking as a typing indicator, which ends by itself, and every state in the root message."""
        if isinstance(agent.status, Thinking) and not is_kept_waiting(agent):
            there = self.sending.calls.client.get_partial_messageable(thread_id(agent))
            with suppress(SurfaceError):  # it ends by itself in ten seconds; the root message says more
                await self.sending.calls.ask(there.typing)
        if not self.standing.is_shown(agent):
            await self._edit_root(agent)

    async def _edit_root(self, agent: Agent) -> None:
        parent, root = int(agent.channel.channel), thread_id(agent)
        is_post = isinstance(await self.sending.channel(parent), discord.ForumChannel)
        files = await self.standing.files_text(agent)
        with self.standing.showing(agent):
            place, message = root if is_post else parent, self._root(agent, files)
            edit = partial(self.sending.edit, place, root, message, agent.id)
            await self.edits.attempt(agent, (place, root), edit)

    async def _say_to(self, person: int, text: str) -> None:
        client = self.sending.calls.client
        await self.sending.calls.ensure_login()
        there = await self.sending.calls.ask(lambda: client.create_dm(discord.Object(person)))
        await self.sending.calls.ask(lambda: there.send(view=ready(text_message(text))))


def thread_id(agent: Agent) -> int:
    """The id of the agent's thread; raise ThreadGone if it has none."""
    return int(thread_of(agent).thread)


def title_of(agent: Agent) -> str:
    return one_line(agent.name)[:MAX_THREAD_NAME]
