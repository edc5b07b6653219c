"""Updates a card after a click on an outdated state."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from adapters.buttons import Button
from adapters.chat.services import ChatServices
from agent_core.errors import AlreadyDecided, ChangedSinceShown, NotPossible
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.turn import Turn

DrawAgain: TypeAlias = Callable[[Agent, Turn], Awaitable[None]]


@asynccontextmanager
async def redraw_outdated(
    button: Button, origin: Origin, context: ChatServices, draw_again: DrawAgain
) -> AsyncIterator[None]:
    """Carry out the button's action; if the card is outdated, update it in the background and raise the error."""
    try:
        yield
    except (AlreadyDecided, ChangedSinceShown, NotPossible):
        context.soon(_draw_again(button, origin, context, draw_again))
        raise


async def _draw_again(button: Button, origin: Origin, context: ChatServices, draw_again: DrawAgain) -> None:
    turn_id = TurnId(button.subject)
    if button.verb in ("stop", "resume", "revoke", "reply"):
        newest = await context.views.newest_turn(origin.channel, AgentId(button.subject))
        if newest is None:
            return
        turn_id = newest.id
    await draw_again(*await context.views.turn(origin.channel, turn_id))
