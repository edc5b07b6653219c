"""Budgets of agents and channels: opens spending trackers and saves what they recorded."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.usage import FREE, Budget, CallKind, Usage
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.spending.helper_tree import budget_of, charge_root
from agent_core.spending.spending_tracker import NO_BUDGET, PRICE_SETTING, SpendingTracker


@dataclass(frozen=True, slots=True)
class BudgetLedger:
    """Keeps the open trackers of each channel, so that concurrent agents cannot overspend a shared budget."""

    database: Database
    price_setting: str = PRICE_SETTING
    open_trackers: dict[ChannelScope, list[SpendingTracker]] = field(default_factory=dict)

    @contextmanager
    def track(self, agent: Agent, own: Budget, channel: Budget) -> Iterator[SpendingTracker]:
        """A tracker for one step of an agent. `own`, `channel`: budgets as read. The caller saves what was spent."""
        with self._track(agent.channel, own, channel, agent.home) as tracker:
            yield tracker

    @asynccontextmanager
    async def open_tracker(self, agent: Agent) -> AsyncIterator[SpendingTracker]:
        """A tracker whose spending is saved at the end, also after an error."""
        async with self.database.begin() as work:
            own, channel = await budget_of(work, agent), await work.budgets.of(agent.channel)
        with self.track(agent, own, channel) as tracker:
            try:
                yield tracker
            finally:
                await self.save_spending(agent.channel, agent, tracker.settle())

    @asynccontextmanager
    async def open_channel_tracker(self, channel: ChannelScope) -> AsyncIterator[SpendingTracker]:
        """A tracker for spending without an agent, such as on the draft of a new one."""
        async with self.database.begin() as work:
            budget = await work.budgets.of(channel)
        with self._track(channel, NO_BUDGET, budget) as tracker:
            try:
                yield tracker
            finally:
                await self.save_spending(channel, None, tracker.settle())

    @contextmanager
    def _track(self, channel: ChannelScope, own: Budget, shared: Budget, head: str = "") -> Iterator[SpendingTracker]:
        others = self.open_trackers.setdefault(channel, [])
        tracker = SpendingTracker(own, shared, others=others, head=head, price_setting=self.price_setting)
        others.append(tracker)
        try:
            yield tracker
        finally:
            others[:] = [each for each in others if each is not tracker]
            if not others:
                self.open_trackers.pop(channel, None)

    async def save_spending(self, channel: ChannelScope, agent: Agent | None, spent: Mapping[CallKind, Usage]) -> None:
        """Charge the calls to the channel and, if an agent is given, to the agent and its root agent."""

        async def act(work: UnitOfWork) -> None:
            if agent:
                present = await work.agents.get(channel, agent.id)
                work.agents.save(present.pay(spent))
                await charge_root(work, present, spent)
            charge(work, channel, spent)

        if spent:
            await in_one_unit(self.database, act)


def charge(work: UnitOfWork, channel: ChannelScope, spent: Mapping[CallKind, Usage]) -> None:
    """Add the cost of the calls to the channel's spending."""
    cost = sum(spent.values(), Usage()).cost
    if cost > FREE:
        work.budgets.add_spending(channel, cost)
