"""Remembers for some minutes what a person decided last in the list of what waits, and finds what came of it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.service.reading.views import AgentViews

MAX_PEOPLE = 1_000
SHOWN_FOR = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class LastDecisions:
    """Remembers in this process what people decided last; the turn itself tells what came of it."""

    views: AgentViews
    clock: Clock
    decided: OrderedDict[str, tuple[datetime, ChannelScope, TurnId]] = field(default_factory=OrderedDict)

    def note(self, person: Actor, channel: ChannelScope, turn: TurnId) -> None:
        """Remember that the person decided on the turn."""
        self.decided.pop(person.id, None)
        self.decided[person.id] = (self.clock.now(), channel, turn)
        if len(self.decided) > MAX_PEOPLE:
            self.decided.popitem(last=False)

    async def of(self, person: Actor) -> tuple[Agent, Turn] | None:
        """The turn on which the person decided last, with its agent; None after SHOWN_FOR."""
        last = self.decided.get(person.id)
        if last is None or last[0] < self.clock.now() - SHOWN_FOR:
            return None
        try:
            return await self.views.turn(*last[1:])
        except NotFound:  # its agent was deleted
            return None
