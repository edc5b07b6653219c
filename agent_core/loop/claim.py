"""One worker's claim on one agent: fenced saves, each followed by showing cards and notices.

The fence is a counter on the agent, which is raised when a worker takes the agent. Every save compares it, so a worker
that was suspended while another worker took over cannot save. Before each message and command the claim is confirmed.
Which cards and notices were shown is recorded by the next save, which needs fewer transactions.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from agent_core.errors import Conflict, DatabaseAway, NotFound, Superseded, ThreadGone
from agent_core.loop.draining import Draining
from agent_core.loop.outcome import Outcome, SavedOutcome
from agent_core.loop.step_charging import charge_once
from agent_core.loop.thread_presenter import ThreadPresenter
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.channels import ThreadRef
from agent_core.model.ids import TurnId, new_id
from agent_core.model.note import Notice
from agent_core.model.reservation import Account
from agent_core.model.turn import Turn
from agent_core.model.usage import Budget
from agent_core.ports.database import Database, UnitOfWork, finish_uncancelled, in_one_unit
from agent_core.ports.engine import Claims, Waker
from agent_core.ports.surface import ChatSurface
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import charge_root, report, taint_shared_folder
from agent_core.spending.spending_tracker import SpendingTracker

T = TypeVar("T")
Step = Callable[[UnitOfWork, Agent], Awaitable[Outcome]]
RETRY_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class AgentClaim:
    """A worker's claim.

    `agent`: the agent as it was claimed, with the fence of this claim.
    `tracker`: the spending of the step in progress; it is settled by the save that charges it.
    `save_id`, `charge_id`: identify the last save that was tried, and the last one that charges what was spent.
    `newest`: the agent's newest turn as this claim read or saved it last, if it did.
    `questions`: questions of people that wait for the model's answer.
    `has_background`: whether programs of the agent run here, so that it stays with this worker.
    `ends_at_wait`: the claim ends with a save after which the agent waits for people, if they see what is saved.
    `is_given_up`: a save has ended the claim.
    """

    database: Database
    claims: Claims
    waker: Waker
    presenter: ThreadPresenter
    agent: Agent
    has_background: Callable[[Agent], Awaitable[bool]]
    newest: Turn | None = None
    questions: list[Notice] = field(default_factory=list)
    tracker: SpendingTracker | None = None
    draining: Draining = field(default_factory=Draining)
    save_id: str = ""
    charge_id: str = ""
    ends_at_wait: bool = False
    is_given_up: bool = False

    @property
    def surface(self) -> ChatSurface:
        return self.presenter.surface

    async def confirm(self) -> None:
        """Make sure, before an effect, that this worker still has the agent; raise Superseded.

        While the database is away, wait for it.
        """
        await self._when_reachable(partial(self.claims.confirm, self.agent.id))

    async def show_pending(self) -> Agent:
        """Open the thread if there is none, and show what was saved but not shown; return the agent as it is now.

        If an agent lost its thread, resuming opens a new one, and an open proposal is shown there again.
        """
        agent = self.agent
        async with self.database.begin() as work:
            turns, notices = await work.together(work.turns.list_unshown(agent), work.notes.list_unposted(agent))
            newest = await work.turns.of(agent, last=1) if agent.thread is None else ()
        self.newest = turns[-1] if turns and turns[-1].number == agent.turns else None
        self.questions = [notice for notice in notices if notice.kind == "question"]
        notices = tuple(notice for notice in notices if notice.kind != "question")
        if agent.thread is None and agent.is_at_rest:
            self.presenter.count_as_shown(turns, notices)
            return agent
        if agent.thread is None:
            agent = await self._open_thread(agent)
            asked = (turn for turn in newest if turn.is_open)
            turns = tuple({turn.id: turn for turn in (*turns, *asked)}.values())
        await self._present(agent, turns, notices, new=None, may_exist=True)
        return agent

    async def save_and_present(self, step: Step) -> Outcome:
        """Apply `step` to the agent in the database, save the outcome in one unit of work, then show the outcome.

        While the database is away, wait for it: what a command or a model gave is not thrown away. Raise Superseded if
        another worker took the agent.
        """
        saved = await self._save(step)
        if saved.parent:
            self.waker.wake(saved.parent)
        self.presenter.forget_recorded()
        outcome = saved.outcome
        self.newest = outcome.newest or self.newest
        await self._present(outcome.agent, outcome.turns, outcome.notices, new=outcome.made, may_exist=False)
        return outcome

    async def _save(self, step: Step) -> SavedOutcome:
        tried = dict[str, SavedOutcome]()

        async def save_fenced(work: UnitOfWork) -> SavedOutcome:
            present = await work.agents.locate(self.agent.id)
            if present.save_id in tried:  # an earlier try took effect, but its answer was lost
                return tried[present.save_id]
            if present.fence != self.agent.fence:
                raise Superseded(self.agent.id)
            if tried and self.tracker:
                await self.tracker.drop_if_charged(work)
            save_id = self.save_id = new_id(self.presenter.clock.now())
            outcome = await step(work, replace(present, save_id=save_id))
            if outcome.spent:
                self.charge_id = save_id
            tried[save_id] = await self._queue(work, present, outcome)
            return tried[save_id]

        saved = await self._save_when_reachable(save_fenced)
        if saved.outcome.spent and self.tracker:
            self.tracker.settle()
        self.charge_id = ""
        if saved.is_given_up:
            self.is_given_up = True
            self.claims.forget(self.agent.id)
        return saved

    async def _queue(self, work: UnitOfWork, present: Agent, outcome: Outcome) -> SavedOutcome:
        """Queue the writes of an outcome, and the end of the claim if nothing is left to do after it."""
        outcome.save(work)
        if outcome.spent and self.tracker:
            self.tracker.remove_reservation(work)
        self.presenter.record(work, outcome.turns, outcome.notices)
        await charge_root(work, outcome.agent, outcome.spent)
        if outcome.agent.folder_tainted and not present.folder_tainted:
            await taint_shared_folder(work, outcome.agent)
        is_given_up = await self._is_over_with(present, outcome.agent)
        if is_given_up:
            self.claims.give_up(work, self.agent)
        rests = outcome.agent.is_at_rest and not present.is_at_rest
        parent = await report(work, outcome.agent, outcome.agent.since) if rests else None
        return SavedOutcome(outcome, parent, is_given_up)

    async def _is_over_with(self, present: Agent, agent: Agent) -> bool:
        """Whether nothing is left to do once the agent is saved: it begins to wait for people, who see what is saved.

        If people had stopped it already, what their Stop met is still to be saved.
        """
        waits = (isinstance(agent.status, Awaiting) or agent.is_at_rest) and agent.status != present.status
        ends = self.ends_at_wait and self.surface.shows_what_is_saved and waits
        return ends and not await self.has_background(agent)

    async def _save_when_reachable(self, save: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        return await self._when_reachable(partial(in_one_unit, self.database, save))

    async def _when_reachable(self, request: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await request()
            except (DatabaseAway, Conflict):
                if self.draining.is_over:
                    raise
                await self.presenter.clock.sleep(RETRY_SECONDS)

    async def save_stopped_output(self, turn_id: TurnId, output: str, *, outside: bool) -> None:
        """Save the output of a command that a person stopped, unless another worker has taken the agent.

        `outside` says that the output may contain untrusted content.
        """

        async def act(work: UnitOfWork) -> None:
            present = await work.agents.locate(self.agent.id)
            turn = await work.turns.get(present.channel, turn_id)
            updated = turn.keep_output(output, outside=outside)
            if present.fence == self.agent.fence and updated != turn:
                work.turns.save(updated)
                if outside and not present.exposed:
                    work.agents.save(present.expose())

        with suppress(NotFound):
            await self._save_when_reachable(act)

    async def _charge(self, account: Account, tracker: SpendingTracker) -> None:
        """Charge the calls of a step that saved none of them, and delete its reservation.

        If another worker has taken the agent, it is charged all the same.
        """
        save_id = new_id(self.presenter.clock.now())

        await self._save_when_reachable(
            partial(charge_once, self.agent, account, tracker, save_id, earlier_save_id=self.charge_id)
        )
        tracker.settle()

    @asynccontextmanager
    async def track(
        self, ledger: BudgetLedger, agent: Agent, own: Budget, channel: Budget
    ) -> AsyncIterator[SpendingTracker]:
        """Track the spending of one step. If the step is cancelled or fails, charge what it had spent."""
        account = Account.of(agent)
        tracker = self.tracker = ledger.tracker(account, own, channel, self._save_when_reachable)
        tracker.confirm = self.confirm
        try:
            yield tracker
        finally:
            try:
                if tracker.is_unsettled:
                    await finish_uncancelled(self._charge(account, tracker))
            finally:
                self.tracker = None

    async def _present(
        self, agent: Agent, turns: tuple[Turn, ...], notices: tuple[Notice, ...], *, new: Turn | None, may_exist: bool
    ) -> None:
        """Show cards and notices. A posted file is recorded at once: a surface cannot find it again after a crash."""
        await self.presenter.present(agent, turns, notices, new=new, may_exist=may_exist)
        if any(notice.file for notice in self.presenter.posted):
            await self.release(keeps_agent=True)

    async def release(self, *, keeps_agent: bool) -> None:
        """Record what was shown since the last save, and end the claim unless this worker keeps the agent."""
        if self.is_given_up and not self.presenter.has_unrecorded:
            return

        async def act(work: UnitOfWork) -> None:
            self.presenter.record(work)
            if not keeps_agent and not self.is_given_up:
                self.claims.give_up(work, self.agent)

        if not keeps_agent:  # first: cancelled in the middle of the commit, this process must not rely on the claim
            self.claims.forget(self.agent.id)
        await self._save_when_reachable(act)
        self.presenter.forget_recorded()

    async def _open_thread(self, agent: Agent) -> Agent:
        await self.confirm()
        thread = await self._root_thread(agent) if agent.head else await self.surface.open_thread(agent)

        async def with_thread(_work: UnitOfWork, present: Agent) -> Outcome:
            return Outcome(agent=replace(present, thread=thread))

        return (await self.save_and_present(with_thread)).agent

    async def _root_thread(self, agent: Agent) -> ThreadRef:
        async with self.database.begin() as work:
            head = await work.agents.get(agent.channel, agent.home)
        if head.thread is None:
            raise ThreadGone(f"{head.name}, which it helps, has no thread: resume that first.")
        return head.thread
