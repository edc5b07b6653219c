"""What one step may spend and has spent: checks each model call against the budgets, and reserves it in a row."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from agent_core.errors import OverBudget
from agent_core.model.ids import ReservationId, new_id
from agent_core.model.model_calls import FREE, NO_USAGE, Budget, CallKind, Usage, total_cost
from agent_core.model.records.reservation import Account, Funds, Reservation
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry

NO_BUDGET = Budget()
PRICE_SETTING = "its price"
MIN_RECORDED = Decimal("0.001")  # US dollars; without a limit, less is not reserved, because people never see it

Act: TypeAlias = Callable[[UnitOfWork], Awaitable[None]]


async def _confirm_nothing() -> None:
    """Do nothing: no worker has claimed the agent for these calls."""


@dataclass(slots=True, kw_only=True)
class StepReservation:
    """The row in the database that holds what one step may still have to pay.

    `save`: runs a function in a unit of work and commits it. `id`: of a row that exists or may exist; `is_saved`: it
    was saved. A saved row that is gone was charged, by a save whose answer was lost or because the worker seemed gone.
    `settled`: gets the ids of rows that are forgotten. One may come back if its commit takes effect late.
    """

    account: Account
    worker: str
    database: Database
    clock: Clock
    save: Callable[[Act], Awaitable[None]]
    settled: MutableMapping[ReservationId, bool] = field(default_factory=dict)
    id: ReservationId | None = None
    is_saved: bool = False

    async def take(self, kind: CallKind, model: str, *, spent: Decimal, held: Decimal, estimate: Decimal) -> None:
        """Save what the step has spent and holds, with the next call's estimate; raise OverBudget."""
        now = self.clock.now()
        self.id = self.id or ReservationId(new_id(now))
        reservation = Reservation(
            id=self.id,
            account=self.account,
            worker=self.worker,
            kind=kind,
            model=model,
            spent=spent,
            held=held,
            since=now,
        )

        async def act(work: UnitOfWork) -> None:
            work.reservations.take(reservation, estimate)

        try:
            await self.save(act)
        except OverBudget:
            self.id = self.id if self.is_saved else None
            raise
        self.is_saved = True

    async def load_funds(self) -> Funds:
        async with self.database.begin() as work:
            return await work.reservations.funds(self.account, without=self.id)

    async def was_charged(self, work: UnitOfWork) -> bool:
        return bool(self.id and self.is_saved and await work.reservations.find(self.id) is None)

    def remove(self, work: UnitOfWork) -> None:
        """Delete the row with the commit, which raises Conflict if it was charged meanwhile."""
        if self.id:
            work.reservations.remove(self.id, must_exist=self.is_saved)

    def add_to_day(self, work: UnitOfWork, model: str, usage: Usage) -> None:
        if usage != NO_USAGE:
            work.budgets.add_to_day(self.account.channel, self.clock.now(), model, usage)

    def forget(self) -> None:
        if self.id:
            self.settled[self.id] = True
        self.id, self.is_saved = None, False


@dataclass(slots=True)
class SpendingTracker:
    """What one step of an agent may spend and has spent, in US dollars.

    `agent`: the budget that an agent and its helpers share, as read from the database.
    `channel`: the channel's budget, as read from the database.
    `spent`, `models`: the usage that was not settled yet, by kind of call and by model.
    `held`: the estimated cost of calls in progress.
    `reservation`: the row in which other processes see both. Without it, only the budgets as read are checked.
    `price_setting`: the name of the setting for prices, for error messages.
    `confirm`: raises Superseded if another worker has taken the agent; it is awaited before each call.
    """

    agent: Budget = NO_BUDGET
    channel: Budget = NO_BUDGET
    spent: dict[CallKind, Usage] = field(default_factory=dict)
    models: dict[str, Usage] = field(default_factory=dict)
    held: Decimal = FREE
    reservation: StepReservation | None = field(default=None, repr=False)
    price_setting: str = PRICE_SETTING
    confirm: Callable[[], Awaitable[None]] = field(default=_confirm_nothing, repr=False)
    telemetry: Telemetry = field(default=NOT_WATCHED, repr=False)
    reserving: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def total(self) -> Usage:
        return sum(self.spent.values(), NO_USAGE)

    @property
    def is_unsettled(self) -> bool:
        """Whether there is something to charge, or a reservation to delete."""
        return bool(self.spent or (self.reservation and self.reservation.id))

    @asynccontextmanager
    async def reserve(self, estimate: Decimal | None, model: str, kind: CallKind) -> AsyncIterator[None]:
        """Reserve `estimate` US dollars during a call; raise OverBudget if a budget does not allow it, or Superseded.

        Afterwards the reservation stays in the database until the step's spending is saved.
        """
        async with self.reserving:
            await self._require_affordable(estimate, model, kind)
            await self.confirm()
            self.held += estimate or FREE
        try:
            yield
        finally:
            self.held -= estimate or FREE

    async def load_left(self) -> Decimal | None:
        """US dollars that remain of the budget with less left, after all reservations; None without a budget."""
        if not self._is_limited:
            return None
        funds = await self.reservation.load_funds() if self.reservation else self._funds
        return funds.left(total_cost(self.spent) + self.held)

    def record(self, kind: CallKind, usage: Usage, model: str = "") -> None:
        """Add a usage. What another service than a chat model was used for is known by its kind."""
        self.spent[kind] = self.spent.get(kind, NO_USAGE) + usage
        self.models[model or kind] = self.models.get(model or kind, NO_USAGE) + usage
        self.telemetry.count_usage(model or kind, usage)

    def settle(self) -> dict[CallKind, Usage]:
        """Return the spending since the last call of this method and add it to the budgets, after it was saved."""
        spent, self.spent, self.models = self.spent, {}, {}
        cost = total_cost(spent)
        self.agent, self.channel = self.agent.spend(cost), self.channel.spend(cost)
        if self.reservation:
            self.reservation.forget()
        return spent

    def remove_reservation(self, work: UnitOfWork) -> None:
        """In the unit of work that charges what was spent: delete the reservation, and add to the day's spending."""
        if self.reservation:
            self.reservation.remove(work)
            for model, usage in self.models.items():
                self.reservation.add_to_day(work, model, usage)

    async def drop_if_charged(self, work: UnitOfWork) -> None:
        """Forget what was spent if the reservation was charged, so that it is not charged twice."""
        if self.reservation and await self.reservation.was_charged(work):
            self.spent.clear()
            self.models.clear()
            self.reservation.forget()

    @property
    def _is_limited(self) -> bool:
        return self.agent.limit is not None or self.channel.limit is not None

    @property
    def _funds(self) -> Funds:
        return Funds(agent=self.agent, channel=self.channel)

    async def _require_affordable(self, estimate: Decimal | None, model: str, kind: CallKind) -> None:
        if estimate is None:
            if self._is_limited:
                advice = f"Set {self.price_setting}, or lift the budget."
                raise OverBudget(f"No price is known for {model}, so the budget cannot be kept. {advice}")
            return
        if self.reservation and self.reservation.is_saved:  # a worker that was taken for dead goes on with a new row
            async with self.reservation.database.begin() as work:
                await self.drop_if_charged(work)
        spent, held = total_cost(self.spent), self.held + estimate
        if self.reservation and estimate and (self._is_limited or spent + held >= MIN_RECORDED):
            await self.reservation.take(kind, model, spent=spent, held=held, estimate=estimate)
        elif why := self._funds.refusal(spent, held, estimate):
            raise OverBudget(why)
