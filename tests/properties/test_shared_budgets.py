"""Budgets against a simple model: any order of calls, ends of processes, limits and deletions."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent_core.errors import OverBudget
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.records.reservation import Account
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.helper_tree import budget_of
from agent_core.spending.spending_tracker import SpendingTracker
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL, an_agent, keep
from tests.example_counts import tried

CENT = Decimal("0.01")
WORKERS = ("one", "two")
ADA = an_agent()
HELPERS = tuple(an_agent(id=f"helper-{n}", name=f"Helper {n}", head=ADA.id, parent=ADA.id) for n in range(2))
BOB = an_agent(id="agent-bob", name="Bob")
AGENTS: dict[str, Agent] = {each.id: each for each in (ADA, *HELPERS, BOB)}
PAYERS: tuple[str, ...] = ("channel", *AGENTS)

cents = st.integers(1, 40)
limits = st.none() | st.integers(0, 100)
numbers = st.integers(0, 11)


@dataclass(eq=False)
class Step:
    """One step as the model sees it: the cents that its ended calls cost and that its calls in progress may cost.

    `reserved`: both, as they were when its newest call began; others see that, and pay it if the process ends.
    """

    worker: str
    agent: str
    tracker: SpendingTracker
    spent: int = 0
    held: int = 0
    reserved: tuple[int, int] = (0, 0)
    calls: list[tuple[int, AsyncExitStack]] = field(default_factory=list)


def has_steps(budgets: "Budgets") -> bool:
    return bool(budgets.open)


def has_calls(budgets: "Budgets") -> bool:
    return any(each.calls for each in budgets.open)


class Budgets(RuleBasedStateMachine):
    """`limits`, `spent`, `estimated`: cents of the channel and of each agent that was not deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.runner, self.database = asyncio.Runner(), TemporaryDatabase()
        self.ledgers = {name: BudgetLedger(self.database, FakeClock(), worker=name) for name in WORKERS}
        self.limits: dict[str, int | None] = dict.fromkeys(PAYERS)
        self.spent, self.estimated = dict.fromkeys(PAYERS, 0), dict.fromkeys(PAYERS, 0)
        self.open: list[Step] = []
        self.runner.run(keep(self.database, *AGENTS.values()))

    def teardown(self) -> None:
        self.runner.close()

    @rule(worker=st.sampled_from(WORKERS), agent=st.sampled_from(PAYERS[1:]))
    def begin(self, worker: str, agent: str) -> None:
        if agent in self.spent:
            self.open.append(Step(worker, agent, self.runner.run(self._tracker(worker, AGENTS[agent]))))

    @precondition(has_steps)
    @rule(which=numbers, estimate=cents)
    def call(self, which: int, estimate: int) -> None:
        """A call begins exactly if the budgets afford it beside everything that is reserved."""
        step = self.open[which % len(self.open)]
        stack, affords = AsyncExitStack(), self._affords(step, estimate)
        try:
            self.runner.run(stack.enter_async_context(step.tracker.reserve(estimate * CENT, "m", "chat")))
        except OverBudget:
            assert not affords
        else:
            assert affords
            step.held += estimate
            step.reserved = step.spent, step.held
            step.calls.append((estimate, stack))

    @precondition(has_calls)
    @rule(which=numbers, cost=cents)
    def end_call(self, which: int, cost: int) -> None:
        """The oldest call of a step ends and costs less than, or more than, was estimated."""
        calling = [each for each in self.open if each.calls]
        step = calling[which % len(calling)]
        estimate, stack = step.calls.pop(0)
        step.tracker.record("chat", Usage(cost=cost * CENT))
        self.runner.run(stack.aclose())
        step.held, step.spent = step.held - estimate, step.spent + cost

    @precondition(has_steps)
    @rule(which=numbers)
    def settle(self, which: int) -> None:
        """The step ends: what its calls cost is charged. Those in progress are given up and cost nothing."""
        step = self.open.pop(which % len(self.open))
        for _, stack in step.calls:
            self.runner.run(stack.aclose())
        account = Account.of(AGENTS[step.agent])
        self.runner.run(self.ledgers[step.worker].save_spending(account, step.tracker))
        self._charge(step, step.spent, 0)

    @rule(worker=st.sampled_from(WORKERS), is_found_twice=st.booleans())
    def crash(self, worker: str, is_found_twice: bool) -> None:
        """A process ends, and others find that."""
        finder = self.ledgers[next(each for each in WORKERS if each != worker)]
        for _ in range(1 + is_found_twice):
            self.runner.run(finder.charge_left(worker))
        for step in [each for each in self.open if each.worker == worker]:
            self.open.remove(step)
            self._charge(step, sum(step.reserved), step.reserved[1])

    @rule(payer=st.sampled_from(("channel", ADA.id, BOB.id)), limit=limits)
    def change_limit(self, payer: str, limit: int | None) -> None:
        if payer not in self.spent:
            return
        self.limits[payer] = limit
        self.runner.run(self._save_limit(payer, None if limit is None else limit * CENT))

    @precondition(has_calls)
    @rule(agent=st.sampled_from(PAYERS[1:]))
    def delete(self, agent: str) -> None:
        """An agent is deleted, but not more than two, because nothing happens without any."""
        if agent in self.spent and len(self.spent) > len(PAYERS) - 2:
            del self.spent[agent], self.estimated[agent]
            self.runner.run(self._delete(AGENTS[agent]))

    @invariant()
    def budgets_are_charged_as_in_the_model(self) -> None:
        assert self.runner.run(self._budgets()) == {
            payer: Budget(
                limit=None if (limit := self.limits[payer]) is None else limit * CENT,
                spent=self.spent[payer] * CENT,
                estimated=self.estimated[payer] * CENT,
            )
            for payer in self.spent
        }

    def _affords(self, step: Step, estimate: int) -> bool:
        root = _root(step.agent)
        if root not in self.spent:
            return False
        others = [each for each in self.open if each is not step]
        needed = step.spent + step.held + estimate
        return all(
            (limit := self.limits[payer]) is None or self.spent[payer] + needed + _reserved(sharing) <= limit
            for payer, sharing in (
                ("channel", others),
                (root, [each for each in others if _root(each.agent) == root]),
            )
        )

    def _charge(self, step: Step, cost: int, estimated: int) -> None:
        for payer in {"channel", step.agent, _root(step.agent)} & set(self.spent):
            self.spent[payer] += cost
            self.estimated[payer] += estimated

    async def _tracker(self, worker: str, agent: Agent) -> SpendingTracker:
        async with self.database.begin() as work:
            own, channel = await budget_of(work, agent), await work.budgets.of(CHANNEL)
        return self.ledgers[worker].tracker(Account.of(agent), own, channel)

    async def _save_limit(self, payer: str, limit: Decimal | None) -> None:
        async with self.database.begin() as work:
            if payer == "channel":
                work.budgets.set_limit(CHANNEL, limit)
            else:
                present = await work.agents.get(CHANNEL, AgentId(payer))
                work.agents.save(replace(present, budget=replace(present.budget, limit=limit)))
            await work.commit()

    async def _delete(self, agent: Agent) -> None:
        async with self.database.begin() as work:
            work.agents.remove(await work.agents.get(CHANNEL, agent.id))
            await work.commit()

    async def _budgets(self) -> dict[str, Budget]:
        async with self.database.begin() as work:
            found = {str(agent.id): agent.budget for agent in await work.agents.of(CHANNEL)}
            return {"channel": await work.budgets.of(CHANNEL), **found}


def _root(agent: str) -> str:
    return AGENTS[agent].home


def _reserved(steps: list[Step]) -> int:
    return sum(sum(each.reserved) for each in steps)


TestBudgets = pytest.mark.proves("budget:killed", "budget:processes")(Budgets.TestCase)
TestBudgets.settings = settings(max_examples=tried(100), stateful_step_count=30, deadline=None)


@pytest.mark.slow
@pytest.mark.proves("budget:killed", "budget:processes")
class TestBudgetsLong(Budgets.TestCase):  # type: ignore[misc, valid-type]
    """The same, for longer."""

    settings = settings(max_examples=600, stateful_step_count=60, deadline=None)
