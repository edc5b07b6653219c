"""Edits messages: joins those of a card that asks nothing to one a second in each channel, and notes refused edits.

Commands that run under one approval change their common card faster than people read and platforms allow. Each channel
gets about one such edit a second, with the newest state. Until it is sent, the turn counts as not shown, so that a
process that ends loses nothing.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from cachetools import LRUCache

from adapters.chat.background import BackgroundTasks
from adapters.chat.joined_cards import CardContent
from agent_core.errors import SurfaceBusy, SurfaceError, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import ChannelScope
from agent_core.ports.clock import Clock

EditOutcome: TypeAlias = Literal["shown", "gone", "refused"]
logger = logging.getLogger(__name__)

MAX_REMEMBERED = 1_000  # messages, and agents
MAX_REASON = 100
INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class JoinedEdit:
    """An edit of an agent's card, which returns whether the message exists, and the digest of what it shows."""

    agent: Agent
    edit: Callable[[], Awaitable[bool]]
    digest: bytes


@dataclass(slots=True, kw_only=True)
class CardEdits:
    """Edits messages, each identified by a key.

    `post`: posts a notice. `refused`: messages that the platform refuses to edit; each is tried once.
    `told`: agents whose thread knows that one was refused.
    `sent`: the digests of what joined edits show. `waiting`: the edits that each channel is about to get.
    """

    post: Callable[[Agent, Notice], Coroutine[Any, Any, None]]
    soon: BackgroundTasks
    clock: Clock
    refused: LRUCache[Hashable, bool] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    told: LRUCache[AgentId, bool] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    sent: LRUCache[Hashable, bytes] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    waiting: dict[ChannelScope, dict[Hashable, JoinedEdit]] = field(default_factory=dict)

    async def attempt(self, agent: Agent, key: Hashable, edit: Callable[[], Awaitable[bool]]) -> EditOutcome:
        """Edit a message, unless that was refused before; `edit` returns whether the message exists."""
        self.sent.pop(key, None)
        self.waiting.get(agent.channel, {}).pop(key, None)
        if key in self.refused:
            return "refused"
        try:
            return "shown" if await edit() else "gone"
        except (SurfaceBusy, ThreadGone):
            raise
        except SurfaceError as fault:
            why = str(fault)[:MAX_REASON]
            logger.warning("a message cannot be edited", extra={"agent": agent.id, "why": why})
            self.refused[key] = True
            if agent.home not in self.told:
                self.told[agent.home] = True
                self.soon(self.post(agent, Notice.to(agent, "waiting", refused_text(why), self.clock.now())))
            return "refused"

    async def is_settled(self, key: Hashable, card: CardContent, edit: JoinedEdit) -> bool:
        """Edit a card; return False if it has to be posted anew. Raise SurfaceBusy if the edit is joined with others.

        It is posted anew if it is gone, or cannot be edited and shows what waits for people, or what became of it.
        """
        if is_joined(card):
            if self.sent.get(key) == edit.digest:
                return True
            self._require_turn(key, edit)
        outcome = await self._send(key, edit)
        return outcome == "shown" or (outcome == "refused" and may_be_late(card))

    async def send_waiting_of(self, agent: Agent) -> None:
        """Send the agent's waiting edits now, because people are asked something next."""
        for key, edit in tuple(self.waiting.get(agent.channel, {}).items()):
            if edit.agent.id == agent.id:
                await self._send(key, edit)

    def _require_turn(self, key: Hashable, edit: JoinedEdit) -> None:
        """Raise SurfaceBusy if the channel had a joined edit within the last second; then this one is sent soon."""
        channel = edit.agent.channel
        if channel in self.waiting:
            self.waiting[channel][key] = edit
            raise SurfaceBusy("The edit is joined with the next one.", INTERVAL_SECONDS)
        self.waiting[channel] = {}
        self.soon(self._send_one_by_one(channel))

    async def _send_one_by_one(self, channel: ChannelScope) -> None:
        """Send the waiting edits of a channel, one a second, until there are none."""
        waiting = self.waiting[channel]
        try:
            await self.soon.delay(self.clock.sleep(INTERVAL_SECONDS))
            while waiting:
                with suppress(SurfaceError):  # the turn counts as not shown, so it is tried again
                    await self._send(*next(iter(waiting.items())))
                await self.soon.delay(self.clock.sleep(INTERVAL_SECONDS))
        finally:
            del self.waiting[channel]

    async def _send(self, key: Hashable, edit: JoinedEdit) -> EditOutcome:
        outcome = await self.attempt(edit.agent, key, edit.edit)
        if outcome == "shown":
            self.sent[key] = edit.digest
        return outcome


def is_joined(card: CardContent) -> bool:
    """Whether the card's edits may wait: several turns share it, and it asks people nothing."""
    return bool(card.place.earlier) and not card.newest.is_open and card.newest.open_question is None


def may_be_late(card: CardContent) -> bool:
    """Whether a card may stay as it is: its command runs and will have a result, or it would only be folded."""
    newest = card.newest
    return card.is_folded or (newest.state in ("approved", "running") and newest.open_question is None)


def refused_text(why: str) -> str:
    return (
        f"{why.rstrip('.')}: a message in this thread could not be changed and may be out of date. "
        "What was posted last holds."
    )
