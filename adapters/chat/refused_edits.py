"""Messages that the platform refuses to edit, whatever its reason: the agent goes on without the edit."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from cachetools import LRUCache

from adapters.chat.background import BackgroundTasks
from adapters.chat.joined_cards import CardContent
from agent_core.errors import SurfaceBusy, SurfaceError, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.ports.clock import Clock

EditOutcome: TypeAlias = Literal["shown", "gone", "refused"]
logger = logging.getLogger(__name__)

MAX_REMEMBERED = 1_000  # messages, and agents
MAX_REASON = 100


@dataclass(slots=True, kw_only=True)
class RefusedEdits:
    """Tries each message that the platform refuses to edit once, and tells the thread of the first.

    `post`: posts the notice. `refused`: the messages, each by what identifies it. `told`: agents whose thread knows.
    """

    post: Callable[[Agent, Notice], Coroutine[Any, Any, None]]
    soon: BackgroundTasks
    clock: Clock
    refused: LRUCache[Hashable, bool] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))
    told: LRUCache[AgentId, bool] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))

    async def attempt(self, agent: Agent, key: Hashable, edit: Callable[[], Awaitable[bool]]) -> EditOutcome:
        """Edit a message, unless that was refused before; `edit` returns whether the message exists."""
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

    async def is_settled(
        self, agent: Agent, key: Hashable, card: CardContent, edit: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Edit a card; return False if it has to be posted anew.

        That is if it is gone, or cannot be edited and shows what waits for people, or what became of it.
        """
        outcome = await self.attempt(agent, key, edit)
        return outcome == "shown" or (outcome == "refused" and may_be_late(card))


def may_be_late(card: CardContent) -> bool:
    """Whether a card may stay as it is: its command runs and will have a result, or it would only be folded."""
    newest = card.newest
    return card.is_folded or (newest.state in ("approved", "running") and newest.open_question is None)


def refused_text(why: str) -> str:
    return (
        f"{why.rstrip('.')}: a message in this thread could not be changed and may be out of date. "
        "What was posted last holds."
    )
