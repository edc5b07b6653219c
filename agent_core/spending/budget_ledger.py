"""Makes spending trackers, charges what they recorded to agent and channel, and what processes that ended reserved."""

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial

from cachetools import LRUCache

from agent_core.errors import Conflict, DatabaseAway
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, ReservationId
from agent_core.model.model_calls import FREE, Budget, CallKind, Usage, total_cost
from agent_core.model.origin import ChannelScope
from agent_core.model.records.reservation import Account, Reservation
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry
from agent_core.spending.helper_tree import budget_of, charge_agents
from agent_core.spending.spending_tracker import NO_BUDGET, PRICE_SETTING, Act, SpendingTracker, StepReservation

MAX_SETTLED = 1_000
CHECK_SECONDS, LONGEST_STEP = 60.0, timedelta(hours=1)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BudgetLedger:
    """Makes spending trackers, whose reservations are rows, so that processes cannot overspend a shared budget.

    `worker`: the key of this process, which its reservations bear.
    `settled`: the newest reservations of this process that were charged and deleted.
    """

    database: Database
    clock: Clock
    price_setting: str = PRICE_SETTING
    worker: str = field(default_factory=lambda: secrets.token_hex(12))
    settled: LRUCache[ReservationId, bool] = field(default_factory=lambda: LRUCache(MAX_SETTLED))
    telemetry: Telemetry = NOT_WATCHED

    def tracker(
        self, account: Account, own: Budget, channel: Budget, save: Callable[[Act], Awaitable[None]] | None = None
    ) -> SpendingTracker:
        """A tracker for one step. `own`, `channel`: budgets as read. The caller saves what was spent.

        `save`: saves reservations instead of `in_one_unit`.
        """
        reservation = StepReservation(
            account=account,
            worker=self.worker,
            database=self.database,
            clock=self.clock,
            save=save or partial(in_one_unit, self.database),
            settled=self.settled,
        )
        return SpendingTracker(
            own, channel, reservation=reservation, price_setting=self.price_setting, telemetry=self.telemetry
        )

    @asynccontextmanager
    async def open_tracker(self, agent: Agent) -> AsyncIterator[SpendingTracker]:
        """A tracker whose spending is saved at the end, also after an error."""
        async with self.database.begin() as work:
            own, channel = await budget_of(work, agent), await work.budgets.of(agent.channel)
        account = Account.of(agent)
        tracker = self.tracker(account, own, channel)
        try:
            yield tracker
        finally:
            await self.save_spending(account, tracker)

    @asynccontextmanager
    async def open_channel_tracker(self, channel: ChannelScope) -> AsyncIterator[SpendingTracker]:
        """A tracker for spending without an agent, such as on the draft of a new one."""
        account = Account(channel=channel)
        async with self.database.begin() as work:
            tracker = self.tracker(account, NO_BUDGET, await work.budgets.of(channel))
        try:
            yield tracker
        finally:
            await self.save_spending(account, tracker)

    async def save_spending(self, account: Account, tracker: SpendingTracker) -> None:
        """Charge what the tracker recorded, and delete its reservation."""

        async def act(work: UnitOfWork) -> None:
            await tracker.drop_if_charged(work)
            tracker.remove_reservation(work)
            await charge_account(work, account, tracker.spent)

        if tracker.is_unsettled:
            await in_one_unit(self.database, act)
            tracker.settle()

    async def charge_left(self, worker: str, root: AgentId | None = None) -> Decimal:
        """Charge what a process that ended had reserved, and delete the reservations; return the US dollars.

        With `root`, only reservations of this root agent and its helpers are charged. What calls in progress may have
        cost is charged as an estimate. Nothing is charged twice: if the process is alive after all, it finds its
        reservations gone and does not charge those calls again.
        """
        async with self.database.begin() as work:
            left = [each for each in await work.reservations.of(worker) if root in (None, each.account.root)]
        total = FREE
        for each in left:
            total += await in_one_unit(self.database, partial(_charge_reservation, each.id))
        if left:
            logger.warning(
                "calls of a process that ended are charged", extra={"worker": worker, "cost": f"{total:.3f}"}
            )
        return total

    async def charge_left_by_others(self, root: AgentId | None = None) -> None:
        """Call `charge_left` for all other processes. Only for the one process that advances these agents."""
        async with self.database.begin() as work:
            workers = await work.reservations.workers()
        for worker in workers:
            if worker != self.worker:
                await self.charge_left(worker, root)

    async def charge_left_of(self, agent_id: AgentId) -> None:
        """Charge what a process that ended had reserved for an agent that nobody advances now; see `charge_left`."""
        await self._charge_where(lambda each: each.account.agent == agent_id)

    async def run(self) -> None:
        """Check what is left once a minute, until cancelled."""
        while True:
            with suppress(DatabaseAway, Conflict):
                await self.check_left()
            await self.clock.sleep(CHECK_SECONDS)

    async def check_left(self) -> None:
        """Charge reservations older than the longest step. A process that ended left them, and no agent goes on."""
        await in_one_unit(self.database, self._delete_settled)
        await self._charge_where(lambda each: each.since < self.clock.now() - LONGEST_STEP)

    async def _charge_where(self, is_left: Callable[[Reservation], bool]) -> None:
        async with self.database.begin() as work:
            every = [
                each for worker in await work.reservations.workers() for each in await work.reservations.of(worker)
            ]
        for each in filter(is_left, every):
            await in_one_unit(self.database, partial(_charge_reservation, each.id))

    async def _delete_settled(self, work: UnitOfWork) -> None:
        """Delete reservations that were charged, and came back by a commit that had been given up for lost."""
        for each in await work.reservations.of(self.worker):
            if each.id in self.settled:
                work.reservations.remove(each.id, must_exist=False)


def charge(work: UnitOfWork, channel: ChannelScope, spent: Mapping[CallKind, Usage], estimated: Decimal = FREE) -> None:
    """Add the cost of the calls to the channel's spending. `estimated`: the part of it that is an estimate."""
    cost = total_cost(spent)
    if cost > FREE:
        work.budgets.add_spending(channel, cost, estimated)


async def charge_account(
    work: UnitOfWork, account: Account, spent: Mapping[CallKind, Usage], estimated: Decimal = FREE
) -> None:
    """Charge the calls to the agent and its root agent, as far as they were not deleted, and to the channel."""
    if spent:
        await charge_agents(work, account, spent, estimated)
        charge(work, account.channel, spent, estimated)


async def _charge_reservation(reservation_id: ReservationId, work: UnitOfWork) -> Decimal:
    reservation = await work.reservations.find(reservation_id)
    if reservation is None:
        return FREE
    spent: dict[CallKind, Usage] = {reservation.kind: Usage(cost=reservation.amount)}
    await charge_account(work, reservation.account, spent, reservation.held)
    work.budgets.add_to_day(reservation.account.channel, reservation.since, reservation.model, spent[reservation.kind])
    work.reservations.remove(reservation.id, must_exist=True)
    return reservation.amount
