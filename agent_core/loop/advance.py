"""The agent loop: claims one agent and takes its steps until it waits for people or for a time, or is at rest.

    thinking ─► proposal saved ─► card shown ─► awaiting … decided ─► started ─► command ─► result saved
        ▲                             └─ covered by a lease ───────────►┘                        │
        └────────────────────────────────────────────────────────────────────────────────────────┘

The process may end after any step: the saved state determines the next step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from cachetools import LRUCache

from agent_core.errors import Conflict, NotFound, Superseded, SurfaceBusy, SurfaceError
from agent_core.loop.act_step import ActStep
from agent_core.loop.answering import QuestionAnswerer
from agent_core.loop.card_checks import CardCheck
from agent_core.loop.claim import AgentClaim, Draining, Fence
from agent_core.loop.command_runner import CommandRunner
from agent_core.loop.notifying import WaitNotifier
from agent_core.loop.outcome import Outcome
from agent_core.loop.proposing import Proposer
from agent_core.loop.think_step import ThinkStep
from agent_core.loop.thread_presenter import ThreadPresenter
from agent_core.loop.transitions import end_run, finish, pause, pause_schedule, run_due, why_helper_ends, why_run_ends
from agent_core.loop.turn_context import has_lost_right, load_turn_context
from agent_core.model.agent import Acting, Agent, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import SurfaceName
from agent_core.model.schedule import MOST_LATE
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Engine
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry, TurnRef, record_end
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import report

MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Advances agents. Keeps no state between calls: the status of each agent is in the database.

    `most_late`: a run of a schedule that is later than this, after downtime, is only said.
    """

    database: Database
    proposer: Proposer
    runner: CommandRunner
    surfaces: Mapping[SurfaceName, ChatSurface]
    clock: Clock
    ledger: BudgetLedger
    engine: Engine
    most_late: timedelta = MOST_LATE
    telemetry: Telemetry = NOT_WATCHED
    draining: Draining = field(default_factory=Draining)
    _last_fences: LRUCache[AgentId, int] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED))

    async def advance(self, agent_id: AgentId) -> None:
        """Advance the agent. Does nothing if it has no work, was deleted, or was taken by another worker."""
        try:
            await self._run_steps(await self._claim(agent_id))
        except NotFound:
            await self.runner.stop_background(agent_id)
        except (Superseded, SurfaceBusy):
            return
        except SurfaceError as gone:  # the thread is gone, or the platform refuses to open one
            reason = f"{gone} Resume makes a new thread."
            agent = await self.pause(agent_id, reason, loses_thread=True)
            await self._surface_of(agent).announce_lost_thread(agent, reason)

    async def pause(self, agent_id: AgentId, reason: str, *, loses_thread: bool = False) -> Agent:
        """Pause the agent, unless it is at rest already, and post the reason in the thread; return the agent as saved.

        With `loses_thread`, the agent loses its thread, so that resuming opens another.
        """

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.locate(agent_id)
            unthreaded = replace(agent, thread=None) if loses_thread else agent
            if agent.is_at_rest:
                work.agents.save(unthreaded)
                return unthreaded
            outcome = pause(unthreaded, reason, self.clock.now())
            outcome.save(work)
            for each in (agent_id, await report(work, outcome.agent, self.clock.now())):
                if each:
                    self.engine.wake(work, each)
            return outcome.agent

        return await in_one_unit(self.database, act)

    async def _claim(self, agent_id: AgentId) -> AgentClaim:
        """Raise the agent's fence; raise Superseded if this process cannot show it, NotFound if it was deleted."""
        read = self.clock.elapsed()

        async def act(work: UnitOfWork) -> Agent:
            taken = (await work.agents.locate(agent_id)).claim()
            if taken.channel.surface not in self.surfaces:
                raise Superseded(agent_id)
            work.agents.save(taken)
            self.engine.hold(work, agent_id)
            return taken

        try:
            agent = await in_one_unit(self.database, act)
        except Conflict as contended:  # the next sweep finds it again
            raise Superseded(agent_id) from contended
        if self._last_fences.get(agent_id) != agent.fence - 1:  # another process may have shown it since
            self._surface_of(agent).forget_shown(agent)
        self._last_fences[agent_id] = agent.fence
        fence = Fence(database=self.database, clock=self.clock, claimed=agent, read=read)
        presenter = ThreadPresenter(
            surface=self._surface_of(agent),
            workspaces=self.runner.workspaces,
            clock=self.clock,
            telemetry=self.telemetry,
            confirm=fence.confirm,
        )
        return AgentClaim(
            database=self.database,
            waker=self.engine,
            presenter=presenter,
            fence=fence,
            draining=self.draining,
        )

    def _surface_of(self, agent: Agent) -> ChatSurface:
        return self.surfaces[agent.channel.surface]

    async def _run_steps(self, claim: AgentClaim) -> None:
        """Take steps until the agent waits. However that ends, what was shown is recorded."""
        try:
            agent = await claim.show_pending()
            for question in claim.questions:
                agent = await self._answer(claim, agent, question)
            agent = await CardCheck(runner=self.runner, clock=self.clock, claim=claim).check(agent)
            while True:
                agent = await self._follow_schedule(claim, agent)
                await claim.surface.status(agent)
                if self.draining.is_requested:
                    return
                agent = await self._notify(claim, agent)
                match agent.status:
                    case Acting():
                        agent = await self._act(claim, agent)
                    case Thinking() if agent.wake_at is None or agent.wake_at <= self.clock.now():
                        with self.telemetry.watch("think", TurnRef(agent.id, agent.turns + 1)):
                            agent = await self._think(claim, agent)
                    case _:
                        if agent.is_at_rest:
                            await self.runner.stop_background(agent.id)
                        return
        finally:
            await claim.record_shown()

    async def _follow_schedule(self, claim: AgentClaim, agent: Agent) -> Agent:
        """Begin or leave out the run that is due, and end the open one at its limits; return the agent as it is now."""
        now = self.clock.now()
        if agent.head and isinstance(agent.status, Thinking):
            return await self._follow_run(claim, agent)
        if agent.schedule is None or not (agent.schedule.is_due(now) or why_run_ends(agent)):
            return agent
        is_barred = agent.schedule.is_due(now) and await has_lost_right(claim.surface, agent, agent.schedule.by)

        async def act(work: UnitOfWork, present: Agent) -> Outcome:
            if why := why_run_ends(present):
                return end_run(present, why, await work.notes.list_waiting(present), now)
            if is_barred and present.schedule == agent.schedule:
                return pause_schedule(present, now)
            return run_due(present, now, self.most_late)

        return (await claim.save_and_present(act)).agent

    async def _follow_run(self, claim: AgentClaim, helper: Agent) -> Agent:
        """End a helper's work with the run of its root agent, or at as many turns; return the helper as it is now."""
        async with self.database.begin() as work:
            root = await work.agents.get(helper.channel, helper.home)
            most = root.schedule.turns if root.schedule else helper.turns + 1
            earlier = await work.turns.of(helper, last=1, before=helper.turns - most + 2)
        if not (why := why_helper_ends(root, earlier)):
            return helper

        async def act(_work: UnitOfWork, present: Agent) -> Outcome:
            return finish(present, why, self.clock.now())

        return (await claim.save_and_present(act)).agent

    async def _notify(self, claim: AgentClaim, agent: Agent) -> Agent:
        if claim.surface.notifications is None:
            return agent
        notifier = WaitNotifier(claim=claim, clock=self.clock, notifications=claim.surface.notifications)
        return await notifier.update(agent)

    async def _answer(self, claim: AgentClaim, agent: Agent, question: Notice) -> Agent:
        answerer = QuestionAnswerer(
            metered_model=self.proposer.metered_model,
            memory=self.proposer.memory,
            ledger=self.ledger,
            clock=self.clock,
            draining=self.draining,
        )
        return await answerer.answer(claim, agent, question)

    async def _act(self, claim: AgentClaim, agent: Agent) -> Agent:
        step = ActStep(
            runner=self.runner,
            clock=self.clock,
            ledger=self.ledger,
            claim=claim,
            draining=self.draining,
            telemetry=self.telemetry,
        )
        return await step.act(agent)

    async def _think(self, claim: AgentClaim, agent: Agent) -> Agent:
        await self.runner.extensions.ready()
        await claim.confirm()
        async with self.database.begin() as work:
            turn_context = await load_turn_context(work, agent, has_tools=self.proposer.commands.has_sources())
        async with claim.track(self.ledger, agent, turn_context.own, turn_context.budget) as tracker:
            thought = await ThinkStep(
                proposer=self.proposer,
                clock=self.clock,
                claim=claim,
                turn_context=turn_context,
                tracker=tracker,
                draining=self.draining,
            ).think(agent)
        last = turn_context.turns[-1] if turn_context.turns else None
        if last and last.undo and thought.turns > agent.turns:  # nobody can undo the rejection any more
            record_end(self.telemetry, replace(last, undo=None))
        return thought
