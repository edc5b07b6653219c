"""One worker's claim on one agent: fenced saves, retried, charged, then shown; and whether the process is draining.

The fence is a counter on the agent, which is raised when a worker takes the agent. Every save compares it, so a worker
that was suspended while another worker took over cannot save. Before each message and command the claim is confirmed.
Which cards and notices were shown is recorded by the next save, which needs fewer transactions.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from agent_core.errors import Conflict, DatabaseAway, NotFound, Superseded, ThreadGone
from agent_core.loop.outcome import Outcome, count_use
from agent_core.loop.thread_presenter import ThreadPresenter
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.model_calls import Budget
from agent_core.model.note import Notice
from agent_core.model.origin import ThreadRef
from agent_core.model.records.reservation import Account
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, finish_uncancelled, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.surface import ChatSurface
from agent_core.spending.budget_ledger import BudgetLedger, charge_account
from agent_core.spending.helper_tree import charge_root, report, taint_shared_folder
from agent_core.spending.spending_tracker import SpendingTracker


@dataclass(slots=True)
class Draining:
    """Whether this process is shutting down. The loop looks at it before each step.

    `is_over`: there is no more time, so nothing waits for a database that is away.
    """

    is_requested: bool = False
    is_over: bool = False
    _model_calls: dict["asyncio.Task[Any]", None] = field(default_factory=dict, repr=False)

    @contextmanager
    def give_up_on_request(self) -> Iterator[None]:
        """Cancel the current task if draining is requested inside the with-block, or was before it.

        For steps that lose nothing: a model call is charged for what it used, and made again by the next process.
        """
        task = asyncio.current_task()
        if self.is_requested or task is None:
            raise asyncio.CancelledError
        self._model_calls[task] = None
        try:
            yield
        finally:
            self._model_calls.pop(task, None)

    def request(self) -> None:
        """Begin to drain: the model calls in progress are given up."""
        self.is_requested = True
        for task in self._model_calls:
            task.cancel()


T = TypeVar("T")
Step = Callable[[UnitOfWork, Agent], Awaitable[Outcome]]
RETRY_SECONDS, TRUSTED_SECONDS = 1.0, 1.0


@dataclass(slots=True, kw_only=True)
class Fence:
    """A worker's right to work on an agent, until another one raises the agent's fence.

    `read`: when the fence was last read, in seconds of `Clock.elapsed`. No engine takes an agent from a worker that
    answered within the last seconds, so a fence that was read a second ago still holds.
    """

    database: Database
    clock: Clock
    claimed: Agent
    read: float

    async def confirm(self) -> None:
        """Raise Superseded if another worker has taken the agent; NotFound, DatabaseAway."""
        if (now := self.clock.elapsed()) - self.read < TRUSTED_SECONDS:
            return
        async with self.database.begin() as work:
            present = await work.agents.locate(self.claimed.id)
        if present.fence != self.claimed.fence:
            raise Superseded(self.claimed.id)
        self.read = now


@dataclass(slots=True, kw_only=True)
class AgentClaim:
    """A worker's claim.

    `tracker`: the spending of the step in progress; it is settled by the save that charges it.
    `charge_id`: identifies the last save that was tried to charge what was spent.
    `questions`: questions of people that wait for the model's answer.
    """

    database: Database
    waker: Waker
    presenter: ThreadPresenter
    fence: Fence
    questions: list[Notice] = field(default_factory=list)
    tracker: SpendingTracker | None = None
    draining: Draining = field(default_factory=Draining)
    charge_id: str = ""

    @property
    def agent(self) -> Agent:
        """The agent as it was claimed."""
        return self.fence.claimed

    @property
    def surface(self) -> ChatSurface:
        return self.presenter.surface

    async def confirm(self) -> None:
        """Make sure, before an effect, that this worker still has the agent; raise Superseded.

        While the database is away, wait for it.
        """
        await self._when_reachable(self.fence.confirm)

    async def show_pending(self) -> Agent:
        """Open the thread if there is none, and show what was saved but not shown; return the agent as it is now.

        If an agent lost its thread, resuming opens a new one, and an open proposal is shown there again.
        """
        agent = self.agent
        async with self.database.begin() as work:
            turns, notices = await work.turns.list_unshown(agent), await work.notes.list_unposted(agent)
            newest = await work.turns.of(agent, last=1) if agent.thread is None else ()
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
        outcome = await self._save(step)
        self.presenter.forget_recorded()
        await self._present(outcome.agent, outcome.turns, outcome.notices, new=outcome.made, may_exist=False)
        return outcome

    async def _save(self, step: Step) -> Outcome:
        tried, begun = dict[str, Outcome](), self.fence.read

        async def save_fenced(work: UnitOfWork) -> Outcome:
            nonlocal begun
            begun = self.presenter.clock.elapsed()
            present = await work.agents.locate(self.agent.id)
            if present.save_id in tried:  # an earlier try took effect, but its answer was lost
                return tried[present.save_id]
            if present.fence != self.agent.fence:
                raise Superseded(self.agent.id)
            if tried and self.tracker:
                await self.tracker.drop_if_charged(work)
            save_id = new_id(self.presenter.clock.now())
            outcome = await step(work, replace(present, save_id=save_id))
            if outcome.spent:
                self.charge_id = save_id
            await self._queue(work, present, outcome)
            tried[save_id] = outcome
            return outcome

        saved = await self._save_when_reachable(save_fenced)
        self.fence.read = begun
        if saved.spent and self.tracker:
            self.tracker.settle()
        self.charge_id = ""
        return saved

    async def _queue(self, work: UnitOfWork, present: Agent, outcome: Outcome) -> None:
        """Queue the writes of an outcome."""
        outcome.save(work)
        await count_use(work, outcome.agent, outcome.made, self.presenter.clock.now())
        if outcome.spent and self.tracker:
            self.tracker.remove_reservation(work)
        self.presenter.record(work, outcome.turns, outcome.notices)
        await charge_root(work, outcome.agent, outcome.spent)
        if outcome.taints_folder:
            await taint_shared_folder(work, outcome.agent, self.presenter.clock.now())
        rests = outcome.agent.is_at_rest and not present.is_at_rest
        if rests and (parent := await report(work, outcome.agent, outcome.agent.since)):
            self.waker.wake(work, parent)

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
            await self.record_shown()

    async def record_shown(self) -> None:
        """Record what was shown since the last save."""

        async def act(work: UnitOfWork) -> None:
            self.presenter.record(work)

        if self.presenter.shown or self.presenter.posted:
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


async def charge_once(
    claimed: Agent,
    account: Account,
    tracker: SpendingTracker,
    save_id: str,
    work: UnitOfWork,
    *,
    earlier_save_id: str,
) -> None:
    """Charge what was spent, and delete its reservation, unless a save with one of these ids has done so already.

    `claimed`: the agent as it was claimed. If another worker has taken it since, it is charged all the same.
    """
    await tracker.drop_if_charged(work)
    present = await _find_agent(work, claimed.id)
    if present and present.save_id and present.save_id in (save_id, earlier_save_id):
        return  # an earlier save took effect
    tracker.remove_reservation(work)
    await charge_account(work, account, tracker.spent)
    if tracker.spent and present and present.fence == claimed.fence:
        charged = await work.agents.locate(claimed.id)
        work.agents.save(replace(charged, save_id=save_id))


async def _find_agent(work: UnitOfWork, agent_id: AgentId) -> Agent | None:
    with suppress(NotFound):
        return await work.agents.locate(agent_id)
    return None
