"""One act step: checks the preview again, saves the start, runs the command, saves the result; recovers after a crash.

approved ─► preview unchanged? ─► started saved ─► command runs ─► result saved
                │ no: people are asked again
running at a crash ─► only reads, or its files show that it did not run: it runs again
                   ─► its files show that it ran: its result is saved
                   ─► else people are asked
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from agent_core.errors import CommandError, NotFound, Superseded
from agent_core.loop.card_checks import ask_again
from agent_core.loop.claim import AgentClaim, Draining
from agent_core.loop.command_runner import CommandRunner
from agent_core.loop.live_progress import LiveOutput
from agent_core.loop.outcome import Outcome
from agent_core.loop.transitions import bill, conclude, move, read_before_finishing, wait_for
from agent_core.loop.turn_context import look_up_approvers
from agent_core.model.agent import Acting, Agent, Awaiting, Finished
from agent_core.model.command import Failed, Interrupted, Preview, Result, Succeeded
from agent_core.model.ids import TurnId
from agent_core.model.model_calls import CallKind, Usage
from agent_core.model.origin import Actor
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn, TurnState, changed_text
from agent_core.oversight.evaluation import why_not_allowed_now
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry, TurnRef, record_end
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of, list_helpers_below
from agent_core.spending.spending_tracker import SpendingTracker

NOTHING_SPENT: Mapping[CallKind, Usage] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActStep:
    """Runs the newest turn of an agent that acts."""

    runner: CommandRunner
    clock: Clock
    ledger: BudgetLedger
    claim: AgentClaim
    draining: Draining
    telemetry: Telemetry = NOT_WATCHED

    async def act(self, agent: Agent) -> Agent:
        """Run the approved command, or decide what became of one that was running at a crash; return the agent."""
        turn = await self._read_newest(agent)
        match turn.state:
            case "approved":
                return await self._start(agent, turn)
            case "running":
                return await self._recover(agent, turn)
            case _:
                raise Superseded(agent.id)

    async def _read_newest(self, agent: Agent) -> Turn:
        async with self.claim.database.begin() as work:
            (turn,) = await work.turns.of(agent, last=1)
        return turn

    async def _recover(self, agent: Agent, turn: Turn) -> Agent:
        """Go on with a command that was running when a process ended. Its files may tell whether it ran."""
        if not self._may_run_again(agent, turn):
            match await self._find_outcome(agent, turn):
                case Succeeded() as ran:
                    return await self._finish(turn.id, ran)
                case "unknown":
                    return await self._interrupt(turn.id, Interrupted())
                case "not run":
                    pass
        again = await self.claim.save_and_present(partial(self._save_restart, turn.id))
        return await self._start(again.agent, turn.restart())

    async def _find_outcome(self, agent: Agent, turn: Turn) -> Succeeded | Literal["not run", "unknown"]:
        async with self.claim.database.begin() as work:
            shares_folder = bool(agent.head or await list_helpers_below(work, agent))
        return await self.runner.find_outcome(agent, turn.call, turn.shown_preview, shares_folder=shares_folder)

    async def _start(self, agent: Agent, turn: Turn) -> Agent:
        try:
            preview = await self.runner.preview_call(agent, turn.call)
        except CommandError as error:
            return await self._finish(turn.id, Failed(str(error)))
        if self.draining.is_requested:
            return agent
        remark = "" if turn.proposal.still_holds(turn.call, preview) else changed_text(turn.proposal.preview, preview)
        remark = self._replaced_text(turn) or remark
        people = await look_up_approvers(self.claim.surface, agent, turn)
        if turn.started_at is None and not agent.simulates(turn):
            await self.runner.keep_version(agent, turn)
        save = partial(self._save_start, turn.id, preview, remark, people)
        try:
            started = await self.claim.save_and_present(save)
        except asyncio.CancelledError:
            await self._take_back_start(turn.id)
            raise
        if started.changed and started.changed.state == "running":
            return await self._run(started.agent, turn, preview)
        return started.agent

    def _may_run_again(self, agent: Agent, turn: Turn) -> bool:
        """Whether a command that was cut short runs again without asking: it only reads, or is simulated."""
        known = self.runner.commands.by_name.get(turn.call.name)
        return agent.simulates(turn) or (
            turn.only_reads and not turn.always_asks and not (known and known.spec.always_asks)
        )

    def _replaced_text(self, turn: Turn) -> str:
        """That the command is another plugin's, or another version's, than people were shown; "" if it is not."""
        now = self.runner.commands.source_of(turn.call.name)
        if now == turn.source:
            return ""
        shown = turn.source or "Signoff or an unnamed plugin"
        return f"This is a command of {now or 'Signoff'} now. What was shown was one of {shown}."

    async def _save_start(
        self,
        turn_id: TurnId,
        preview: Preview | None,
        remark: str,
        people: Mapping[str, Actor | None],
        work: UnitOfWork,
        agent: Agent,
    ) -> Outcome:
        """Start the command; ask people again if its preview changed, or if the lease or policy no longer covers it."""
        turn, now = await _require_turn(work, agent, turn_id, "approved"), self.clock.now()
        turn = turn.marked_for_two(agent.policy_in_force, by_operator=self.runner.commands.needs_two(turn.call.name))
        paying = replace(agent, budget=await budget_of(work, agent)) if agent.lease else agent
        reason = remark or why_not_allowed_now(paying, turn, now, people)
        if reason:
            spec = self.runner.commands.get(turn.call.name).spec
            return ask_again(agent, turn.show_again(preview, reason, now), spec, now)
        return self._begun(agent, turn, preview, now)

    async def _take_back_start(self, turn_id: TurnId) -> None:
        """After a cancelled save of the start: the command has not begun, so that nobody is asked whether it ran."""
        with suppress(Superseded, NotFound):  # the start was not saved, or Stop ended the turn
            await self.claim.save_and_present(partial(self._save_restart, turn_id))

    async def _save_restart(self, turn_id: TurnId, work: UnitOfWork, agent: Agent) -> Outcome:
        """Approve a command again that was running when the process ended, so that it runs again."""
        turn, now = await _require_turn(work, agent, turn_id, "running"), self.clock.now()
        restarted = move(agent, turn.restart(), Acting(), now)
        return replace(restarted, audit=(AuditEntry.of_crash(agent, turn, now),))

    async def _interrupt(self, turn_id: TurnId, result: Interrupted) -> Agent:
        """Ask people about a command that may have run; expose the agent if its result may be untrusted."""

        async def save(work: UnitOfWork, agent: Agent) -> Outcome:
            turn, now = await _require_turn(work, agent, turn_id, "running"), self.clock.now()
            cut = turn.interrupt(result)
            exposed = self.runner.commands.expose_after_interruption(turn.call.name, agent)
            outcome = replace(move(exposed, cut, Awaiting(), now), audit=(AuditEntry.of_end(agent, cut, now),))
            writes = self.runner.commands.may_write_untrusted(turn.call.name, exposed)
            return outcome.taint_folder() if writes else outcome

        return (await self.claim.save_and_present(save)).agent

    async def _run(self, agent: Agent, turn: Turn, approved: Preview | None) -> Agent:
        """Run the command, whose start is saved, and save its result."""
        live_output = LiveOutput(claim=self.claim, clock=self.clock, turn_id=turn.id)

        async def run(tracker: SpendingTracker) -> Result:
            await self.claim.confirm()
            command = self.runner.run(
                agent,
                turn.call,
                tracker,
                live_output.display,
                approved,
                is_simulated=agent.simulates(turn),
            )
            try:
                with self.telemetry.watch("command", TurnRef.of(turn), command=turn.call.name) as facts:
                    result = await live_output.run(command)
                    facts["result"] = result.kind
                    return result
            except asyncio.CancelledError:
                await self._save_cut_short(agent, turn, live_output.newest)
                raise

        return await self._run_and_pay(agent, turn, run)

    def _begun(self, agent: Agent, turn: Turn, preview: Preview | None, now: datetime) -> Outcome:
        running = turn.start(now, preview)
        begun = move(agent, running, Acting(), now)
        writes = self.runner.commands.may_write_untrusted(turn.call.name, agent)
        begun = begun.taint_folder() if writes else begun
        return replace(begun, audit=(AuditEntry.of_run(agent, running, now, turn.source),))

    async def _save_cut_short(self, agent: Agent, turn: Turn, output: str) -> None:
        """Save the output of a command that was cancelled: by Stop, or at the end of the process."""
        outside = self.runner.commands.may_return_untrusted(turn.call.name, agent)
        if output:  # Stop saved it only as far as it was shown
            await self.claim.save_stopped_output(turn.id, output, outside=outside)
        if self.draining.is_requested and not self._may_run_again(agent, turn):
            ended = Interrupted(output=output, outside=outside and bool(output), at_shutdown=True)
            with suppress(Superseded, NotFound):  # by Stop
                await self._interrupt(turn.id, ended)

    async def _run_and_pay(
        self,
        agent: Agent,
        turn: Turn,
        run: Callable[[SpendingTracker], Awaitable[Result]],
    ) -> Agent:
        if not self.runner.asks_models(turn.call):
            return await self._finish(turn.id, await run(SpendingTracker()))
        async with self.claim.database.begin() as work:
            own, budget = await budget_of(work, agent), await work.budgets.of(agent.channel)
        async with self.claim.track(self.ledger, agent, own, budget) as tracker:
            return await self._finish(turn.id, await run(tracker), tracker.spent)

    async def _finish(
        self,
        turn_id: TurnId,
        result: Result,
        spent: Mapping[CallKind, Usage] = NOTHING_SPENT,
    ) -> Agent:
        """Save the result, and what follows from it."""

        async def finish(work: UnitOfWork, agent: Agent, *, again: bool = False) -> Outcome:
            turn = await work.turns.get(agent.channel, turn_id)
            if turn.number != agent.turns or turn.state not in ("approved", "running"):
                return Outcome(agent=agent) if again else Outcome(agent=agent.pay(spent), spent=spent)
            now, commands = self.clock.now(), self.runner.commands
            may_quote = not (isinstance(result, Failed) and result.received_nothing)
            is_untrusted = turn.started_at and may_quote and commands.may_return_untrusted(turn.call.name, agent)
            finished = turn.finish(replace(result, outside=True) if is_untrusted else result, now)
            paid, billed = bill(agent, finished, spent)
            earlier = await work.turns.of(agent, last=1, before=turn.number) if paid.lease else ()
            outcome = conclude(paid, billed, earlier, finishes=commands.finishes(turn.call.name), now=now)
            if turn.started_at and commands.may_write_untrusted(turn.call.name, outcome.agent):
                outcome = outcome.taint_folder()
            outcome = replace(outcome, spent=spent, audit=(AuditEntry.of_end(agent, billed, now),))
            return await self._go_on(work, paid, outcome, turn, now)

        try:
            outcome = await self.claim.save_and_present(finish)
        except asyncio.CancelledError:
            if self.draining.is_requested:  # the result is there: save it in the time that is left
                await self.claim.save_and_present(partial(finish, again=True))
            raise
        if outcome.changed:
            record_end(self.telemetry, outcome.changed)
            await self.runner.tell(outcome.agent, outcome.changed)
        return outcome.agent

    async def _go_on(self, work: UnitOfWork, before: Agent, outcome: Outcome, turn: Turn, now: datetime) -> Outcome:
        """Let the agent read new notes before it finishes or waits; after do_nothing, let it wait for its helpers."""
        waits = self.runner.commands.waits(turn.call.name)
        if not waits and not isinstance(outcome.agent.status, Finished):
            return outcome
        if notes := await work.notes.list_waiting(outcome.agent):
            return read_before_finishing(before, outcome, turn, notes, now)
        if not waits:
            return outcome
        helpers = [each for each in await list_helpers_below(work, outcome.agent) if each.parent == outcome.agent.id]
        return wait_for([each.name for each in helpers if not each.is_at_rest], outcome, now)


async def _require_turn(work: UnitOfWork, agent: Agent, turn_id: TurnId, state: TurnState) -> Turn:
    """The turn; raise Superseded if another worker or a person has changed its state."""
    turn = await work.turns.get(agent.channel, turn_id)
    if turn.state != state:
        raise Superseded(agent.id)
    return turn
