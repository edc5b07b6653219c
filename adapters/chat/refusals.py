"""Handles clicks, forms, commands and messages that fail: words the refusal, and redraws an outdated card."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from adapters.chat.services import ChatServices
from adapters.screens.buttons import Button
from adapters.screens.ui_text import fault_text
from agent_core.errors import (
    AlreadyDecided,
    ChangedSinceShown,
    CommandError,
    DatabaseAway,
    NotFound,
    NotPossible,
    PersonError,
    SurfaceError,
)
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.turn import Turn

T = TypeVar("T")
DrawAgain: TypeAlias = Callable[[Agent, Turn], Awaitable[None]]
logger = logging.getLogger(__name__)

NOT_FOUND = "This belongs to an agent that was deleted, or to another channel."


@dataclass(frozen=True, slots=True)
class RefusedAction:
    """The sentence for the person, and the error behind it."""

    text: str
    error: Exception

    @property
    def on_card(self) -> str:
        """The sentence for a person who clicked on a card; for NotFound it says that the agent may be deleted."""
        return NOT_FOUND if isinstance(self.error, NotFound) else self.text


async def attempt(work: Awaitable[T]) -> T | RefusedAction:
    """Return the result of the work, or the refusal if it raises. Unexpected errors and the platform's are logged."""
    try:
        return await work
    except (PersonError, CommandError) as error:
        return RefusedAction(str(error), error)
    except SurfaceError as error:
        logger.warning("platform fault", extra={"fault": type(error).__name__, "why": str(error)[:300]})
        return RefusedAction(str(error), error)
    except DatabaseAway as error:  # the outage is logged once, by the database
        return RefusedAction(fault_text(error), error)
    except Exception as error:
        logger.exception("listener failed")
        return RefusedAction(fault_text(error), error)


@asynccontextmanager
async def redraw_if_outdated(
    button: Button, origin: Origin, context: ChatServices, draw_again: DrawAgain
) -> AsyncIterator[None]:
    """Context manager for a button's action: if it fails because the card is outdated, redraw it in the background."""
    try:
        yield
    except (AlreadyDecided, ChangedSinceShown, NotPossible):
        context.soon(_redraw(button, origin, context, draw_again))
        raise


async def _redraw(button: Button, origin: Origin, context: ChatServices, draw_again: DrawAgain) -> None:
    turn_id = TurnId(button.subject)
    if button.verb in ("stop", "resume", "revoke", "reply"):
        newest = await context.views.newest_turn(origin.channel, AgentId(button.subject))
        if newest is None:
            return
        turn_id = newest.id
    agent, turn = await context.views.turn(origin.channel, turn_id)
    before = await _stages(context, agent, turn)
    while True:
        await draw_again(agent, turn)
        agent, turn = await context.views.turn(origin.channel, turn_id)
        after = await _stages(context, agent, turn)
        if after == before:
            return  # otherwise the loop may have shown the new state before this older one arrived
        before = after


async def _stages(context: ChatServices, agent: Agent, turn: Turn) -> list[str]:
    """The stages of the turn and of the agent's newest, which may share its card; output of a running one aside."""
    newest = await context.views.newest_turn(agent.channel, agent.id)
    return [each.with_live_output("").stage for each in (turn, newest) if each]
