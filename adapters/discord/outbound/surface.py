"""Discord as a ChatSurface: each agent has a root message with a thread; each turn is one message in the thread."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import discord

from adapters.answers import Attachment
from adapters.chat.background import BackgroundTasks
from adapters.chat.card_edits import CardEdits, JoinedEdit
from adapters.chat.joined_cards import CardContent, JoinedCards
from adapters.chat.standing import StandingLines
from adapters.chat.status_updates import StatusUpdates, is_kept_waiting
from adapters.discord.api.client import DiscordRefused
from adapters.discord.api.directory import MemberDirectory
from adapters.discord.outbound.message import DiscordMessage
from adapters.discord.outbound.notification_messages import allowed_mentions
from adapters.discord.outbound.notifications import DiscordNotifications
from adapters.discord.outbound.offers import DiscordOffers
from adapters.discord.outbound.posted import DiscordSender, file_of, files_of, is_marked, ready
from adapters.discord.outbound.render import notice_message, root_message, text_message
from adapters.discord.outbound.turn_messages import folded_message, turn_message
from adapters.turn_lines import TurnLine
from adapters.visible_text import one_line, visible
from agent_core.errors import SurfaceError, ThreadGone
from agent_core.model.actors import Actor, is_name_of
from agent_core.model.agent import Agent, Thinking
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel

AUTO_ARCHIVE_MINUTES: Literal[10080] = 10080  # minutes until Discord archives an inactive thread, its maximum
MAX_THREAD_NAME = 100
SEARCH_SECONDS, MAX_FOUND = 5.0, 100  # for the members whose names begin alike
THREAD_EXISTS = 160004
STATUS_DELAY_SECONDS = 0.5  # seconds; shorter states are not shown
NO_THREADS = "This kind of channel has no threads: create the agent in a text channel or a forum."


@dataclass(slots=True, kw_only=True)
class DiscordSurface:
    """Shows agents in Discord.

    `cards`: which turns share a card. `standing`: what each agent's root message says that it does.
    """

    sending: DiscordSender
    clock: Clock
    model: LanguageModel
    cards: JoinedCards
    standing: StandingLines
    continuous_limit: int | None = None
    name: SurfaceName = "discord"
    soon: BackgroundTasks = field(default_factory=BackgroundTasks)
    offers: DiscordOffers = field(default_factory=DiscordOffers)
    members: MemberDirectory = field(init=False)
    notifications: DiscordNotifications = field(init=False)
    shows_what_is_saved: bool = False
    updates: StatusUpdates = field(init=False)
    edits: CardEdits = field(init=False)

    def __post_init__(self) -> None:
        self.updates = StatusUpdates(
            send=self._send_status,
            facts_of=self.standing.facts,
            soon=self.soon,
            clock=self.clock,
            delay=STATUS_DELAY_SECONDS,
        )
        self.edits = CardEdits(post=partial(self.notice, may_exist=False), soon=self.soon, clock=self.clock)
        self.members = MemberDirectory(sending=self.sending, clock=self.clock)
        self.notifications = DiscordNotifications(sending=self.sending, continuous_limit=self.continuous_limit)

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

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Post or edit the card; an unchanged card is not sent."""
        self.standing.remember(agent, turn)
        card = await self.cards.card(agent, turn)
        place = card.place
        if turn.is_open:
            await self.edits.send_waiting_of(agent)
        if place.left:
            await self._fold(agent, place.left)
        thread, message, mark = thread_of(agent), self._present_card(agent, card), place.marked
        stands = message_in(thread, place.address)
        if not stands and may_exist:
            stands = await self.sending.find_posted(thread, mark.turn, mark.proposed_at)
        if stands:  # also if the edit is joined with a later one
            self.cards.remember(agent, card.newest, place, f"{thread}/{stands}")
        edit = JoinedEdit(agent, partial(self.sending.edit, thread, stands, message, mark.turn), message.digest)
        if not stands or not await self.edits.is_settled((thread, stands), card, edit):
            stands = await self.sending.post(thread, self._present_card(agent, card), mark.turn)
        self.cards.remember(agent, card.newest, place, address := f"{thread}/{stands}")
        if place.to_fold:
            self.soon(self._fold_soon(agent, place.to_fold))
        return address

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice in the thread, unless it was already posted."""
        thread = thread_of(agent)
        if may_exist and await self.sending.find_posted(thread, notice.id, notice.at):
            return
        await self.sending.post(thread, notice_message(agent, notice), notice.id)

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
            self.sending.forget(thread_of(agent))
            self.sending.forget(int(agent.channel.channel), thread_of(agent))

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Send the owner a direct message that the agent's thread is gone."""
        self.soon(self._say_to(int(agent.owner.id), f"{agent.name} is paused. {reason}"))

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Upload the file to the thread; Discord displays images and plays audio."""
        thread = thread_of(agent)
        there = self.sending.calls.client.get_partial_messageable(thread)
        file = Attachment(visible(filename.rpartition("/")[2]), data)
        await self.sending.in_open_thread(thread, lambda: there.send(file=file_of(file)))

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return await self.members.actor(channel, person)

    async def draw_again(self, agent: Agent, turn: Turn) -> None:
        """Edit a card, even if nothing changed, because a person clicked an outdated state of it."""
        if agent.thread and (stands := message_in(thread_of(agent), turn.shown_as)):
            card = await self.cards.read_card(agent, turn)
            self.sending.forget(thread_of(agent), stands)
            await self._try_edit(
                agent, thread_of(agent), stands, self._present_card(agent, card), card.place.marked.turn
            )

    def _present_card(self, agent: Agent, card: CardContent) -> DiscordMessage:
        return folded_message(agent, card.lines) if card.is_folded else self._card(agent, card)

    async def close(self) -> None:
        await self.soon.close()

    async def _delete(self, place: int, message: int) -> None:
        """Delete an offer. If that fails it stays, and its buttons are refused."""
        with suppress(SurfaceError):
            await self.sending.delete(place, message)

    async def _fold_soon(self, agent: Agent, lines: Sequence[TurnLine]) -> None:
        """Fold a finished card. If that fails the card stays as it is, which is longer but as true."""
        with suppress(SurfaceError):
            await self._fold(agent, lines)

    async def _fold(self, agent: Agent, lines: Sequence[TurnLine]) -> None:
        if stands := message_in(thread_of(agent), lines[-1].address):
            await self._try_edit(agent, thread_of(agent), stands, folded_message(agent, lines), lines[0].turn)

    def _card(self, agent: Agent, card: CardContent) -> DiscordMessage:
        return turn_message(
            agent,
            card.newest,
            card.place.earlier,
            model="" if agent.model else self.model.label,
            continuous_limit=self.continuous_limit,
        )

    def _root(self, agent: Agent, files: str = "") -> DiscordMessage:
        standing, last = self.standing.line(agent), self.standing.last_line(agent)
        return root_message(agent, model=self.model.label, standing=standing, files=files, last=last)

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
            there = self.sending.calls.client.get_partial_messageable(thread_of(agent))
            with suppress(SurfaceError):  # it ends by itself in ten seconds; the root message says more
                await self.sending.calls.ask(there.typing)
        if not self.standing.is_shown(agent):
            await self._edit_root(agent)

    async def _edit_root(self, agent: Agent) -> None:
        parent, root = int(agent.channel.channel), thread_of(agent)
        is_post = isinstance(await self.sending.channel(parent), discord.ForumChannel)
        files = await self.standing.files_text(agent)
        with self.standing.showing(agent):
            await self._try_edit(agent, root if is_post else parent, root, self._root(agent, files), agent.id)

    async def _try_edit(self, agent: Agent, place: int, message_id: int, message: DiscordMessage, nonce: str) -> None:
        edit = partial(self.sending.edit, place, message_id, message, nonce)
        await self.edits.attempt(agent, (place, message_id), edit)

    async def _say_to(self, person: int, text: str) -> None:
        client = self.sending.calls.client
        await self.sending.calls.ensure_login()
        there = await self.sending.calls.ask(lambda: client.create_dm(discord.Object(person)))
        await self.sending.calls.ask(lambda: there.send(view=ready(text_message(text))))


def thread_of(agent: Agent) -> int:
    """The agent's thread; raise ThreadGone if it has none."""
    if agent.thread is None:
        raise ThreadGone("The agent has no thread.")
    return int(agent.thread.thread)


def message_in(thread: int, address: str) -> int:
    """The message id in a card's address, or 0 if it is in another thread or not posted."""
    there, _, message = address.partition("/")
    return int(message) if there == str(thread) and message.isdigit() else 0


def title_of(agent: Agent) -> str:
    return one_line(agent.name)[:MAX_THREAD_NAME]
