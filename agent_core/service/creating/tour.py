"""Starts the tour of demo mode: creates an agent with a fixed goal, and sample files in its workspace."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

from agent_core.errors import CommandError, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.origin import Origin
from agent_core.ports.database import UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.ports.models import Rehearsal, Tour
from agent_core.service.agents import AgentService

NO_FILE_FINGERPRINT = ""
NO_TOUR = "The tour is for demo mode, and a model is connected here."


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStarter:
    """Creates agents that give the tour. `rehearsal` is None if a model is connected."""

    service: AgentService
    workspaces: Workspaces
    rehearsal: Rehearsal | None = None

    @property
    def is_offered(self) -> bool:
        return self.rehearsal is not None

    async def start(self, origin: Origin) -> Agent:
        """Create an agent under a free name, and write the sample files; a repeated delivery creates no second one.

        Raise NotPossible without demo mode, and what `AgentLifecycle.create` raises.
        """
        if self.rehearsal is None:
            raise NotPossible(NO_TOUR)
        tour = self.rehearsal.tour()

        async def choose_name(work: UnitOfWork) -> str:
            name = last = ""
            for name in _numbered(tour.draft.name):
                present = await work.agents.find_by_name(origin.channel, name)
                if present is None:
                    break
                last = name if _is_tour_of(present, tour, origin) else last
            delivery = origin.delivery and f"{origin.delivery}/tour"
            return (
                last
                if await self.service.lifecycle.is_repeated(work, replace(origin, delivery=delivery)) and last
                else name
            )

        draft = replace(tour.draft, name=await self.service.lifecycle.save(choose_name))
        agent = await self.service.lifecycle.create(draft, origin, sets_defaults=False)
        if not _is_tour_of(agent, tour, origin):  # after a repeated delivery, somebody has just taken the name
            return agent
        files = self.workspaces.of(agent)
        for path, text in tour.files.items():
            with suppress(CommandError):  # after a repeated delivery the file is there
                await files.write(path, text.encode(), expected=NO_FILE_FINGERPRINT)
        return agent


def _is_tour_of(agent: Agent, tour: Tour, origin: Origin) -> bool:
    """Whether the person began this tour. Another agent may have a name of the same form."""
    return agent.owner.id == origin.by.id and agent.goals == tour.draft.goals


def _numbered(name: str) -> Iterator[str]:
    return (name if number == 1 else f"{name} {number}" for number in count(1))
