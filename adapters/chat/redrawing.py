"""A card that was pressed although it had moved on is drawn again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from adapters.buttons import Button
from adapters.chat.services import ChatServices
from agent_core.errors import AlreadyDecided, ChangedSinceShown, NotPossible
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.turn import Turn


class CardSurface(Protocol):
    """A platform that can send a card again."""

    async def draw_again(self, agent: Agent, turn: Turn) -> None:
        """Bring the turn's card up to date, whatever it shows."""


@asynccontextmanager
async def redraw_outdated(
    button: Button, origin: Origin, context: ChatServices, surface: CardSurface
) -> AsyncIterator[None]:
    """Do what the button says; where its card had moved on, draw that again in the background and raise the error."""
    try:
        yield
    except (AlreadyDecided, ChangedSinceShown, NotPossible):
        context.soon(_draw_again(button, origin, context, surface))
        raise


async def _draw_again(button: Button, origin: Origin, context: ChatServices, surface: CardSurface) -> None:
    turn_id = TurnId(button.subject)
    if button.verb in ("stop", "resume", "revoke", "reply"):
        newest = await context.views.newest_turn(origin.channel, AgentId(button.subject))
        if newest is None:
            return
        turn_id = newest.id
    await surface.draw_again(*await context.views.turn(origin.channel, turn_id))
