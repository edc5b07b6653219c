"""Takes back the notifications of deleted agents, which no later step of the loop can find any more."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.errors import PersonError, SurfaceError
from agent_core.model.agent import Agent, Stopped
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn
from agent_core.ports.database import UnitOfWork
from agent_core.ports.surface import ChatSurface

logger = logging.getLogger(__name__)

MAX_SECONDS = 5.0  # whoever deletes an agent waits for it


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingCall:
    """A notification that stands, with its agent and turn as deleting the agent leaves them."""

    agent: Agent
    turn: Turn | None
    notification: Notification


async def list_calls(work: UnitOfWork, agent: Agent, by: Actor, at: datetime) -> tuple[StandingCall, ...]:
    """The notifications that stand for an agent that is about to be deleted."""
    standing = [each for each in agent.notifications if each.address or each.is_planned]
    turns: dict[TurnId | None, Turn | None] = {None: None}
    for turn_id in {each.turn for each in standing if each.turn}:
        turn = await work.turns.get(agent.channel, turn_id)
        turns[turn_id] = turn.stop(by, at) if turn.is_open else turn
    stopped = agent.become(Stopped(by), at)
    return tuple(StandingCall(agent=stopped, turn=turns[each.turn], notification=each) for each in standing)


async def call_off(surfaces: Sequence[ChatSurface], calls: Sequence[StandingCall]) -> None:
    """Take these notifications back, as far as the platform does so within some seconds. Never raises."""
    notifications = {each.name: each.notifications for each in surfaces}

    async def take_back(call: StandingCall) -> None:
        surface = notifications.get(call.agent.channel.surface)
        try:
            if surface:
                await surface.take_back(call.agent, call.turn, call.notification)
        except (SurfaceError, PersonError) as fault:
            _log(str(fault)[:300])

    try:
        async with asyncio.timeout(MAX_SECONDS):
            await asyncio.gather(*map(take_back, calls))
    except TimeoutError:
        _log(f"not done within {MAX_SECONDS:.0f} s")


def _log(why: str) -> None:
    logger.warning("a notification of a deleted agent stays", extra={"why": why})
