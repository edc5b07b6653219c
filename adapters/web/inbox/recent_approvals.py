"""Remembers for some minutes what a person approved from the list of what waits, and finds what came of it."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor, ChannelScope
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.service.reading.views import AgentViews

MAX_OUTCOMES, MAX_PEOPLE = 4, 1_000
SHOWN_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RecentApprovals:
    """Remembers in this process what people approved lately; the turns themselves tell what came of it."""

    views: AgentViews
    clock: Clock
    approved: OrderedDict[str, tuple[tuple[datetime, ChannelScope, TurnId], ...]] = field(default_factory=OrderedDict)

    def note(self, person: Actor, channel: ChannelScope, turn: TurnId) -> None:
        """Remember that the person approved the turn."""
        before = [each for each in self.approved.pop(person.id, ()) if each[2] != turn]
        self.approved[person.id] = ((self.clock.now(), channel, turn), *before[: MAX_OUTCOMES - 1])
        if len(self.approved) > MAX_PEOPLE:
            self.approved.popitem(last=False)

    async def of(self, person: Actor) -> Sequence[tuple[Agent, Turn]]:
        """The turns that the person approved lately and their agents, the newest first."""
        found, since = list[tuple[Agent, Turn]](), self.clock.now() - SHOWN_FOR
        for at, channel, turn in self.approved.get(person.id, ()):
            if at >= since:
                try:
                    found.append(await self.views.turn(channel, turn))
                except NotFound:  # its agent was deleted
                    continue
        return found
