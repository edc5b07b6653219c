"""The agent loop: advances one agent until it waits for people or for a time, or is at rest.

    thinking ─► proposal saved ─► card shown ─► awaiting … decided ─► started ─► command ─► result saved
        ▲                             └─ covered by a lease ───────────►┘                        │
        └────────────────────────────────────────────────────────────────────────────────────────┘

The process may end after any step: the saved state determines the next step.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
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
from agent_core.loop.thread_presenter import ThreadPresenter
from agent_core.loop.transitions import bill, conclude, move, pause, wait_for
from agent_core.loop.turn_context import load_turn_context
from agent_core.model.agent import Acting, Agent, Awaiting, Thinking
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import SurfaceName
from agent_core.model.command import Preview
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.result import Failed, Result
from agent_core.model.turn import Turn, TurnState, changed_text
from agent_core.model.usage import Budget, CallKind, Usage
from agent_core.oversight.untrusted_content import is_still_allowed
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.surface import ChatSurface
from agent_core.ports.write_priority import WritePriority
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of, list_helpers_below, report
from agent_core.spending.spending_tracker import SpendingTracker

NOTHING_SPENT: Mapping[CallKind, Usage] = {}
PERMISSION_ENDED = "The permission to run this without asking ended before it started."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Advances agents. Keeps no state between calls: the status of each agent is in the database."""

    database: Database
    proposer: Proposer
    runner: CommandRunner
    surfaces: Mapping[SurfaceName, ChatSurface]
    clock: Clock
    ledger: BudgetLedger
    waker: Waker
    write_priority: WritePriority = field(default_factory=WritePriority)

    async def advance(self, agent_id: AgentId) -> None:
        """Advance the agent. Does nothing if it has no work, was deleted, or was taken by another worker."""
        try:
            await self._run_steps(await self._claim(agent_id))
        except NotFound:
            await self.runner.stop_background(agent_id)
        except (Superseded, SurfaceBusy):
            return
        except ThreadGone as gone:
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
            await report(work, outcome.agent, self.clock.now())
            return outcome.agent

        return await in_one_unit(self.database, act)

    async def _claim(self, agent_id: AgentId) -> AgentClaim:
        """Claim the agent, even if another worker has it; raise NotFound if it was deleted."""
        async with self.database.begin() as work:
            agent = await work.agents.locate(agent_id)
        presenter = ThreadPresenter(
            surface=self._surface_of(agent), workspaces=self.runner.workspaces, clock=self.clock
        )
        return AgentClaim(
            database=self.database,
            waker=self.waker,
            write_priority=self.write_priority,
            presenter=presenter,
            agent=agent,
        )

    def _surface_of(self, agent: Agent) -> ChatSurface:
        return self.surfaces[agent.channel.surface]

    async def _run_steps(self, claim: AgentClaim) -> None:
        agent = await claim.show_pending()
        answerer = QuestionAnswerer(metered_model=self.proposer.metered_model, ledger=self.ledger, clock=self.clock)
        for question in claim.questions:
            agent = await answerer.answer(claim, agent, question)
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
        async with self._track(claim, agent, turn_context.own, turn_context.budget) as tracker:
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
                again = await claim.save_and_present(partial(self._save_restart, turn.id))
                return await self._start(claim, again.agent, turn.restart())
            case "running":
                return (await claim.save_and_present(partial(self._save_interruption, turn.id))).agent
            case _:
                raise Superseded(agent.id)

    async def _start(self, claim: AgentClaim, agent: Agent, turn: Turn) -> Agent:
        try:
            preview = await self.runner.preview_call(agent, turn.call)
        except CommandError as error:
            return await self._finish(claim, turn.id, Failed(str(error)))
        remark = "" if turn.proposal.still_holds(turn.call, preview) else changed_text(turn.proposal.preview, preview)
        started = await claim.save_and_present(partial(self._save_start, turn.id, preview, remark))
        if started.changed and started.changed.state == "running":
            return await self._run(claim, started.agent, turn, preview)
        return started.agent

    async def _save_start(
        self, turn_id: TurnId, preview: Preview | None, remark: str, work: UnitOfWork, agent: Agent
    ) -> Outcome:
        """Start the command; ask people again if its preview changed, or if the lease or policy no longer covers it."""
        turn, now = await _require_turn(work, agent, turn_id, "approved"), self.clock.now()
        reason = remark or ("" if is_still_allowed(agent, turn) else PERMISSION_ENDED)
        if reason:
            asked = turn.show_again(preview, reason, now)
            asked = replace(asked, exposed=agent.exposed, exposures=agent.exposures)
            return move(agent, asked, Awaiting(), now)
        started = turn.start(now, preview)
        return replace(move(agent, started, Acting(), now), audit=(AuditEntry.of_run(agent, started, now),))

    async def _save_restart(self, turn_id: TurnId, work: UnitOfWork, agent: Agent) -> Outcome:
        """Approve again a read-only command that was running when the process died, so that it runs again."""
        turn, now = await _require_turn(work, agent, turn_id, "running"), self.clock.now()
        restarted = move(agent, turn.restart(), Acting(), now)
        return replace(restarted, audit=(AuditEntry.of_crash(agent, turn, now),))

    async def _save_interruption(self, turn_id: TurnId, work: UnitOfWork, agent: Agent) -> Outcome:
        """Ask people about a command that was running at a crash; expose the agent if its result may be untrusted."""
        turn, now = await _require_turn(work, agent, turn_id, "running"), self.clock.now()
        cut = turn.interrupt()
        exposed = self.runner.commands.expose_after_interruption(turn.call.name, agent)
        return replace(move(exposed, cut, Awaiting(), now), audit=(AuditEntry.of_end(agent, cut, now),))

    async def _run(self, claim: AgentClaim, agent: Agent, turn: Turn, approved: Preview | None = None) -> Agent:
        live_output = LiveOutput(claim=claim, clock=self.clock, turn_id=turn.id)
        try:
            run = partial(self.runner.run, report=live_output.report, approved=approved)
            return await self._run_and_pay(
                claim, agent, turn, lambda tracker: live_output.run(run(agent, turn.call, tracker))
            )
        except asyncio.CancelledError:  # by Stop, which saved the output only as far as it was shown
            if live_output.newest:
                outside = self.runner.commands.may_return_untrusted(turn.call.name, agent)
                await claim.save_stopped_output(turn.id, live_output.newest, outside=outside)
            raise

    async def _run_and_pay(
        self, claim: AgentClaim, agent: Agent, turn: Turn, run: Callable[[SpendingTracker], Awaitable[Result]]
    ) -> Agent:
        if not self.runner.asks_models(turn.call):
            return await self._finish(claim, turn.id, await run(SpendingTracker()))
        async with self.database.begin() as work:
            own, budget = await budget_of(work, agent), await work.budgets.of(agent.channel)
        async with self._track(claim, agent, own, budget) as tracker:
            return await self._finish(claim, turn.id, await run(tracker), tracker.spent)

    @asynccontextmanager
    async def _track(
        self, claim: AgentClaim, agent: Agent, own: Budget, channel: Budget
    ) -> AsyncIterator[SpendingTracker]:
        """Track the spending of one step. If a person stops the agent meanwhile, charge what the step had spent."""
        with self.ledger.track(agent, own, channel) as tracker:
            claim.tracker = tracker
            try:
                yield tracker
            except asyncio.CancelledError:
                spent = tracker.settle()
                if spent and not await claim.charge(spent):
                    await self.ledger.save_spending(agent.channel, None, spent)
                raise
            finally:
                claim.tracker = None

    async def _finish(
        self, claim: AgentClaim, turn_id: TurnId, result: Result, spent: Mapping[CallKind, Usage] = NOTHING_SPENT
    ) -> Agent:
        async def finish(work: UnitOfWork, agent: Agent) -> Outcome:
            *earlier, turn = await work.turns.of(agent, last=2)
            if turn.id != turn_id or turn.state not in ("approved", "running"):
                return Outcome(agent=agent.pay(spent), spent=spent)
            now, commands = self.clock.now(), self.runner.commands
            is_untrusted = turn.started_at and commands.may_return_untrusted(turn.call.name, agent)
            finished = turn.finish(replace(result, outside=True) if is_untrusted else result, now)
            paid, billed = bill(agent, finished, spent)
            outcome = conclude(paid, billed, earlier, finishes=commands.finishes(turn.call.name), now=now)
            outcome = replace(outcome, spent=spent, audit=(AuditEntry.of_end(agent, billed, now),))
            return await self._wait_for_helpers(work, outcome, turn, now)

        return (await claim.save_and_present(finish)).agent

    async def _wait_for_helpers(self, work: UnitOfWork, outcome: Outcome, turn: Turn, now: datetime) -> Outcome:
        """After do_nothing, let the agent wait for its working helpers, unless a report has arrived already."""
        if not self.runner.commands.waits(turn.call.name) or await work.notes.list_waiting(outcome.agent):
            return outcome
        helpers = [each for each in await list_helpers_below(work, outcome.agent) if each.parent == outcome.agent.id]
        return wait_for([each.name for each in helpers if not each.is_at_rest], outcome, now)


async def _require_turn(work: UnitOfWork, agent: Agent, turn_id: TurnId, state: TurnState) -> Turn:
    """The turn; raise Superseded if another worker or a person has changed its state."""
    turn = await work.turns.get(agent.channel, turn_id)
    if turn.state != state:
        raise Superseded(agent.id)
    return turn
