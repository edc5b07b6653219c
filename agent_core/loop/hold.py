"""One worker's hold on one agent, from being woken to standing still.

Every save checks the fence taken at the start, so a worker that was paused while another took over can save nothing.
What was shown on the surface is recorded with the next save, so that a turn costs few transactions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from agent_core.errors import Superseded, SurfaceBusy
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.surface import ChatSurface

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Hold:
    """The fence, the surface, and what was shown but not yet recorded."""

    database: Database
    surface: ChatSurface
    agent_id: AgentId
    fence: int
    shown: list[tuple[Turn, str]] = field(default_factory=list)
    told: list[Notice] = field(default_factory=list)

    @classmethod
    async def take(cls, database: Database, surfaces: Callable[[Agent], ChatSurface], agent_id: AgentId) -> "Hold":
        """Take the agent from any worker that had it; raise NotFound when it was deleted."""

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.locate(agent_id)
            taken = replace(agent, fence=agent.fence + 1)
            work.agents.save(taken)
            return taken

        agent = await in_one_unit(database, act)
        return cls(database=database, surface=surfaces(agent), agent_id=agent_id, fence=agent.fence)

    async def save(self, act: Callable[[UnitOfWork, Agent], Awaitable[T]]) -> T:
        """Run `act` on the agent as it is now and commit; raise Superseded when another worker took it."""

        async def fenced(work: UnitOfWork) -> T:
            agent = await work.agents.locate(self.agent_id)
            if agent.fence != self.fence:
                raise Superseded(self.agent_id)
            value = await act(work, agent)
            for turn, address in self.shown:
                work.turns.mark_shown(turn, address)
            for notice in self.told:
                work.notes.mark_told(notice)
            return value

        value = await in_one_unit(self.database, fenced)
        self.shown.clear()
        self.told.clear()
        return value

    async def show(self, agent: Agent, turn: Turn) -> None:
        """Show the turn's card as it is; a platform that is busy gets it at the next sweep."""
        known = next((address for shown, address in reversed(self.shown) if shown.id == turn.id), turn.shown_as)
        try:
            address = await self.surface.show(agent, replace(turn, shown_as=known))
        except SurfaceBusy:
            return
        self.shown.append((turn, address))

    async def tell(self, agent: Agent, notice: Notice) -> None:
        """Tell the thread a notice; a platform that is busy gets it at the next sweep."""
        try:
            await self.surface.notice(agent, notice)
        except SurfaceBusy:
            return
        self.told.append(notice)

    async def catch_up(self) -> None:
        """Open the thread, and show and tell whatever was saved but not shown."""
        async with self.database.begin() as work:
            agent = await work.agents.locate(self.agent_id)
            turns, notices = await work.turns.unshown(agent), await work.notes.untold(agent)
        if agent.thread is None:
            agent = await self._open_thread(agent)
        for turn in turns:
            if not any(shown.stage == turn.stage for shown, _ in self.shown if shown.id == turn.id):
                await self.show(agent, turn)
        for notice in notices:
            if notice not in self.told:
                await self.tell(agent, notice)

    async def let_go(self) -> None:
        """Record what was shown last."""
        if self.shown or self.told:
            await self.save(_nothing)

    async def _open_thread(self, agent: Agent) -> Agent:
        thread = await self.surface.open_thread(agent)

        async def act(work: UnitOfWork, present: Agent) -> Agent:
            opened = replace(present, thread=thread)
            work.agents.save(opened)
            return opened

        return await self.save(act)


async def _nothing(_work: UnitOfWork, _agent: Agent) -> None:
    """Save only what was shown."""
