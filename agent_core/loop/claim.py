"""One worker's claim on one agent, from being woken to standing still.

Every save checks the fence taken at the start, so a worker that was paused while another took over can save nothing.
What is shown on the surface is recorded with the next save, so that a turn costs few transactions.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agent_core.errors import CommandError, NotFound, Superseded, SurfaceBusy, SurfaceError, ThreadGone
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent
from agent_core.model.channels import ThreadRef
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.surface import ChatSurface
from agent_core.ports.world import Clock, Workspaces
from agent_core.ports.write_priority import WritePriority
from agent_core.spending.helper_tree import charge_ancestors, report, taint_shared_folder

Step = Callable[[UnitOfWork, Agent], Awaitable[Outcome]]


@dataclass(slots=True, kw_only=True)
class AgentClaim:
    """The fence, the surface, and what was shown but not yet recorded.

    `stands` is where cards went since the start, and `stages` what they show. `questions` wait to be answered.

    The raised fence is saved with the first save, or by `raise_fence` where something costly comes before it.
    """

    database: Database
    workspaces: Workspaces
    waker: Waker
    write_priority: WritePriority
    surface: ChatSurface
    agent: Agent
    fence: int
    clock: Clock
    is_taken: bool = False
    shown: list[tuple[Turn, str, datetime]] = field(default_factory=list)
    told: list[Notice] = field(default_factory=list)
    stands: dict[TurnId, str] = field(default_factory=dict)
    stages: dict[TurnId, str] = field(default_factory=dict)
    questions: list[Notice] = field(default_factory=list)

    @classmethod
    async def take(
        cls, database: Database, surfaces: Callable[[Agent], ChatSurface], agent_id: AgentId, **kept: Any
    ) -> "AgentClaim":
        """Take the agent from any worker that had it; raise NotFound when it was deleted."""
        async with database.begin() as work:
            agent = await work.agents.locate(agent_id)
        return cls(database=database, surface=surfaces(agent), agent=agent, fence=agent.fence + 1, **kept)

    async def catch_up(self) -> Agent:
        """Open the thread, and show and tell whatever was saved but not shown; return the agent as it is.

        An agent that lost its thread gets another when it is resumed, and what it asks is asked again there.
        """
        agent = self.agent
        async with self.database.begin() as work:
            turns, notices = await asyncio.gather(work.turns.list_unshown(agent), work.notes.list_untold(agent))
            newest = await work.turns.of(agent, last=1) if agent.thread is None else ()
        self.questions = [notice for notice in notices if notice.kind == "question"]
        notices = tuple(notice for notice in notices if notice.kind != "question")
        if agent.thread is None and agent.is_at_rest:
            self._count_as_shown(turns, notices)
            return agent
        if agent.thread is None:
            agent = await self._open_thread(agent)
            asked = (turn for turn in newest if turn.is_open)
            turns = tuple({turn.id: turn for turn in (*turns, *asked)}.values())
        await self._show(agent, turns, notices, fresh=None)
        return agent

    async def raise_fence(self) -> None:
        """Raise the fence now, so that no two workers both do what comes next."""
        if not self.is_taken:
            await self.save(_as_it_is)

    async def save(self, step: Step) -> Outcome:
        """Take a step from the agent as it is now, save what follows and show it.

        Raise Superseded when another worker took the agent.
        """

        async def save_fenced(work: UnitOfWork) -> tuple[Outcome, AgentId | None]:
            present = await work.agents.locate(self.agent.id)
            if present.fence != self.fence - (not self.is_taken):
                raise Superseded(self.agent.id)
            outcome = await step(work, replace(present, fence=self.fence))
            outcome.save(work)
            self._record(work)
            await charge_ancestors(work, outcome.agent, outcome.spent)
            if outcome.agent.folder_tainted and not present.folder_tainted:
                await taint_shared_folder(work, outcome.agent)
            rests = outcome.agent.is_at_rest and not present.is_at_rest
            return outcome, await report(work, outcome.agent, outcome.agent.since) if rests else None

        async with self.write_priority.background():
            outcome, told = await in_one_unit(self.database, save_fenced)
        if told:
            self.waker.wake(told)
        self.is_taken = True
        self.shown.clear()
        self.told.clear()
        await self._show(outcome.agent, outcome.turns, outcome.notices, fresh=outcome)
        return outcome

    async def keep_output(self, turn_id: TurnId, output: str, *, outside: bool) -> None:
        """Save all that a command gave until a person stopped it, unless another worker has taken the agent."""

        async def act(work: UnitOfWork) -> None:
            present = await work.agents.locate(self.agent.id)
            turn = await work.turns.get(present.channel, turn_id)
            kept = turn.keep_output(output, outside=outside)
            if present.fence == self.fence and kept != turn:
                work.turns.save(kept)
                if outside and not present.exposed:
                    work.agents.save(present.expose())

        with suppress(NotFound):
            await in_one_unit(self.database, act)

    async def release(self) -> None:
        """Record what was shown last."""

        async def act(work: UnitOfWork) -> None:
            self._record(work)

        if self.shown or self.told:
            await in_one_unit(self.database, act)

    def _record(self, work: UnitOfWork) -> None:
        for turn, address, at in self.shown:
            work.turns.mark_shown(turn, address, at)
        for notice in self.told:
            work.notes.mark_told(notice)

    async def _show(
        self, agent: Agent, turns: tuple[Turn, ...], notices: tuple[Notice, ...], *, fresh: Outcome | None
    ) -> None:
        """Show and tell; a platform that is busy gets the rest at the next sweep.

        What was saved a moment ago, in `fresh`, cannot stand there yet.
        """
        try:
            for turn in turns:
                if self.stages.get(turn.id) == turn.stage:
                    continue
                standing = replace(turn, shown_as=self.stands.get(turn.id, turn.shown_as))
                may_exist = fresh is None or turn is not fresh.made
                self.stands[turn.id] = await self.surface.show(agent, standing, may_exist=may_exist)
                self.stages[turn.id] = turn.stage
                self.shown.append((turn, self.stands[turn.id], self.clock.now()))
            for notice in notices:
                await self._tell(agent, notice, may_exist=fresh is None)
                self.told.append(notice)
        except SurfaceBusy:
            return

    async def _tell(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Tell the thread, or post the file there; one that is gone or cannot be taken is told of in words."""
        if not notice.file:
            return await self.surface.notice(agent, notice, may_exist=may_exist)
        try:
            data = await self.workspaces.of(agent).read(notice.file)
            return await self.surface.upload(agent, notice.file, data)
        except (SurfaceBusy, ThreadGone):
            raise
        except (CommandError, SurfaceError) as fault:
            told = replace(notice, text=f"{notice.text} could not be posted. {fault}")
            return await self.surface.notice(agent, told, may_exist=may_exist)

    def _count_as_shown(self, turns: tuple[Turn, ...], notices: tuple[Notice, ...]) -> None:
        self.shown.extend((turn, turn.shown_as, self.clock.now()) for turn in turns)
        self.told.extend(notices)

    async def _open_thread(self, agent: Agent) -> Agent:
        thread = await self._root_thread(agent) if agent.head else await self.surface.open_thread(agent)

        async def with_thread(_work: UnitOfWork, present: Agent) -> Outcome:
            return Outcome(agent=replace(present, thread=thread))

        return (await self.save(with_thread)).agent

    async def _root_thread(self, agent: Agent) -> ThreadRef:
        async with self.database.begin() as work:
            head = await work.agents.get(agent.channel, agent.home)
        if head.thread is None:
            raise ThreadGone(f"{head.name}, which it helps, has no thread: resume that first.")
        return head.thread


async def _as_it_is(_work: UnitOfWork, agent: Agent) -> Outcome:
    return Outcome(agent=agent)
