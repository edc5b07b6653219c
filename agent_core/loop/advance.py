"""Carry one agent on until people are asked, time must pass, or it stands still.

    thinking ─► proposal saved ─► card shown ─► awaiting … decided ─► started ─► command ─► result saved
        ▲                             └─ covered by a lease ───────────►┘                        │
        └────────────────────────────────────────────────────────────────────────────────────────┘

Any of these steps may be the last before the process dies: what is saved says where to go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from agent_core.errors import CommandError, NotFound, Superseded, SurfaceBusy, ThreadGone
from agent_core.loop.answering import QuestionAnswerer
from agent_core.loop.claim import AgentClaim
from agent_core.loop.command_runner import CommandRunner
from agent_core.loop.live_output import LiveOutput
from agent_core.loop.outcome import Outcome
from agent_core.loop.proposing import Proposer
from agent_core.loop.think_step import ThinkStep
from agent_core.loop.transitions import bill, conclude, move, pause, wait_for
from agent_core.loop.turn_context import load_turn_context
from agent_core.model.agent import Acting, Agent, Awaiting, Thinking
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import SurfaceName
from agent_core.model.command import Preview
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.result import Failed, Result
from agent_core.model.turn import Turn, changed_text
from agent_core.model.usage import CallKind, Usage
from agent_core.oversight.untrusted_content import is_still_allowed
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.surface import ChatSurface
from agent_core.ports.world import Clock
from agent_core.ports.write_priority import WritePriority
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of, list_helpers_below, report
from agent_core.spending.spending_tracker import SpendingTracker

NOTHING: Mapping[CallKind, Usage] = {}
ALLOWED_NO_MORE = "What let this run without asking ended before it started."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Advances agents. Holds nothing between two calls: the database knows where each of them is."""

    database: Database
    proposer: Proposer
    runner: CommandRunner
    surfaces: Mapping[SurfaceName, ChatSurface]
    clock: Clock
    ledger: BudgetLedger
    waker: Waker
    write_priority: WritePriority = field(default_factory=WritePriority)

    async def advance(self, agent_id: AgentId) -> None:
        """Carry the agent on. Harmless when it has nothing to do, was deleted, or another worker takes it."""
        try:
            await self._carry_on(await self._take(agent_id))
        except NotFound:
            await self.runner.stop_background(agent_id)
        except (Superseded, SurfaceBusy):
            return
        except ThreadGone as gone:
            reason = f"{gone} Resume makes a new thread."
            agent = await self.pause(agent_id, reason, loses_thread=True)
            await self._surface_of(agent).announce_lost_thread(agent, reason)

    async def pause(self, agent_id: AgentId, reason: str, *, loses_thread: bool = False) -> Agent:
        """Let the agent stand still and say why, whatever it was doing; return it as it is then."""

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.locate(agent_id)
            kept = replace(agent, thread=None) if loses_thread else agent
            if agent.is_at_rest:
                work.agents.save(kept)
                return kept
            outcome = pause(kept, reason, self.clock.now())
            outcome.save(work)
            await report(work, outcome.agent, self.clock.now())
            return outcome.agent

        return await in_one_unit(self.database, act)

    async def _take(self, agent_id: AgentId) -> AgentClaim:
        return await AgentClaim.take(
            self.database,
            self._surface_of,
            agent_id,
            write_priority=self.write_priority,
            workspaces=self.runner.workspaces,
            waker=self.waker,
            clock=self.clock,
        )

    @property
    def _answerer(self) -> QuestionAnswerer:
        return QuestionAnswerer(metered_model=self.proposer.metered_model, ledger=self.ledger, clock=self.clock)

    def _surface_of(self, agent: Agent) -> ChatSurface:
        return self.surfaces[agent.channel.surface]

    async def _carry_on(self, claim: AgentClaim) -> None:
        agent = await claim.catch_up()
        for question in claim.questions:
            agent = await self._answerer.answer(claim, agent, question)
        while True:
            await claim.surface.status(agent)
            match agent.status:
                case Acting():
                    agent = await self._act(claim, agent)
                case Thinking() if agent.wake_at is None or agent.wake_at <= self.clock.now():
                    agent = await self._think(claim, agent)
                case _:
                    if agent.is_at_rest:
                        await self.runner.stop_background(agent.id)
                    return await claim.release()

    async def _think(self, claim: AgentClaim, agent: Agent) -> Agent:
        await claim.raise_fence()
        async with self.write_priority.background(), self.database.begin() as work:
            turn_context = await load_turn_context(work, agent)
        with self.ledger.track(agent, turn_context.own, turn_context.budget) as tracker:
            return await ThinkStep(
                proposer=self.proposer, clock=self.clock, claim=claim, turn_context=turn_context, tracker=tracker
            ).think(agent)

    async def _act(self, claim: AgentClaim, agent: Agent) -> Agent:
        async with self.database.begin() as work:
            (turn,) = await work.turns.of(agent, last=1)
        match turn.state:
            case "approved":
                return await self._start(claim, agent, turn)
            case "running" if turn.only_reads:
                again = await claim.save(partial(self._restart, turn.id))
                return await self._start(claim, again.agent, turn.restart())
            case "running":
                return (await claim.save(partial(self._interrupt, turn.id))).agent
            case _:
                raise Superseded(agent.id)

    async def _start(self, claim: AgentClaim, agent: Agent, turn: Turn) -> Agent:
        try:
            preview = await self.runner.preview_call(agent, turn.call)
        except CommandError as error:
            return await self._finish(claim, turn.id, Failed(str(error)))
        remark = "" if turn.proposal.still_holds(turn.call, preview) else changed_text(turn.proposal.preview, preview)
        begun = await claim.save(partial(self._begin, turn.id, preview, remark))
        if begun.changed and begun.changed.state == "running":
            return await self._run(claim, begun.agent, turn, preview)
        return begun.agent

    async def _begin(
        self, turn_id: TurnId, preview: Preview | None, remark: str, work: UnitOfWork, agent: Agent
    ) -> Outcome:
        """Start the command, or ask anew where it changed or where what let it run unasked is over."""
        turn, now = await work.turns.get(agent.channel, turn_id), self.clock.now()
        if turn.state != "approved":
            raise Superseded(agent.id)
        why = remark or ("" if is_still_allowed(agent, turn) else ALLOWED_NO_MORE)
        if why:
            asked = turn.show_again(preview, why, now)
            asked = replace(asked, exposed=agent.exposed, exposures=agent.exposures)
            return move(agent, asked, Awaiting(), now)
        started = turn.start(now, preview)
        return replace(move(agent, started, Acting(), now), audit=(AuditEntry.of_run(agent, started, now),))

    async def _restart(self, turn_id: TurnId, work: UnitOfWork, agent: Agent) -> Outcome:
        """Approve a command again that only reads and ran when the process died."""
        turn, now = await work.turns.get(agent.channel, turn_id), self.clock.now()
        if turn.state != "running":
            raise Superseded(agent.id)
        restarted = move(agent, turn.restart(), Acting(), now)
        return replace(restarted, audit=(AuditEntry.of_crash(agent, turn, now),))

    async def _interrupt(self, turn_id: TurnId, work: UnitOfWork, agent: Agent) -> Outcome:
        """Put a command that may have run before people, and count what it may have brought in as brought in."""
        turn, now = await work.turns.get(agent.channel, turn_id), self.clock.now()
        if turn.state != "running":
            raise Superseded(agent.id)
        cut = turn.interrupt()
        exposed = self.runner.take_in_unseen(agent, turn.call)
        return replace(move(exposed, cut, Awaiting(), now), audit=(AuditEntry.of_end(agent, cut, now),))

    async def _run(self, claim: AgentClaim, agent: Agent, turn: Turn, approved: Preview | None = None) -> Agent:
        watch = LiveOutput(claim=claim, clock=self.clock, turn_id=turn.id)
        try:
            run = partial(self.runner.run, report=watch.report, approved=approved)
            return await self._carry_out(claim, agent, turn, lambda tracker: watch.run(run(agent, turn.call, tracker)))
        except asyncio.CancelledError:  # of a stop, which has saved only what was shown last
            if watch.newest:
                outside = self.runner.may_bring_in(turn.call, agent)
                await claim.keep_output(turn.id, watch.newest, outside=outside)
            raise

    async def _carry_out(
        self, claim: AgentClaim, agent: Agent, turn: Turn, run: Callable[[SpendingTracker], Awaitable[Result]]
    ) -> Agent:
        if not self.runner.asks_models(turn.call):
            return await self._finish(claim, turn.id, await run(SpendingTracker()))
        async with self.database.begin() as work:
            own, budget = await budget_of(work, agent), await work.budgets.of(agent.channel)
        with self.ledger.track(agent, own, budget) as tracker:
            return await self._finish(claim, turn.id, await run(tracker), tracker.spent)

    async def _finish(
        self, claim: AgentClaim, turn_id: TurnId, result: Result, spent: Mapping[CallKind, Usage] = NOTHING
    ) -> Agent:
        async def finish(work: UnitOfWork, agent: Agent) -> Outcome:
            *earlier, turn = await work.turns.of(agent, last=2)
            if turn.id != turn_id or turn.state not in ("approved", "running"):
                return Outcome(agent=agent.pay(spent), spent=spent)
            now = self.clock.now()
            finishes = self.runner.commands.finishes(turn.call.name)
            paid, billed = bill(
                agent,
                turn.finish(self.runner.marked(turn.call, result, agent) if turn.started_at else result, now),
                spent,
            )
            outcome = conclude(paid, billed, earlier, finishes=finishes, now=now)
            outcome = replace(outcome, spent=spent, audit=(AuditEntry.of_end(agent, billed, now),))
            return await self._wait_for_helpers(work, outcome, turn, now)

        return (await claim.save(finish)).agent

    async def _wait_for_helpers(self, work: UnitOfWork, outcome: Outcome, turn: Turn, now: datetime) -> Outcome:
        """Let an agent that has nothing to do wait for its helpers at work, unless one has reported already."""
        if not self.runner.commands.waits(turn.call.name) or await work.notes.list_waiting(outcome.agent):
            return outcome
        helpers = [each for each in await list_helpers_below(work, outcome.agent) if each.parent == outcome.agent.id]
        return wait_for([each.name for each in helpers if not each.is_at_rest], outcome, now)
