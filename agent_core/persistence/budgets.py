"""Repositories of channel budgets and of what steps reserve of budgets, with money as integers of 10^-9 US dollars."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Executable,
    Row,
    Select,
    bindparam,
    case,
    delete,
    func,
    literal,
    select,
    text,
    union_all,
)

from agent_core.errors import OverBudget
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, ReservationId
from agent_core.model.model_calls import FREE, Budget, Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.records.operations import SpendingSums, Spent
from agent_core.model.records.reservation import Account, Funds, Reservation
from agent_core.persistence.connections import DecidedWrite, Write
from agent_core.persistence.json_codec import decode
from agent_core.persistence.tables import AnyText, UtcDateTime, agents, budgets, reservations, spending_days
from agent_core.persistence.write_buffer import SqlRepository

DECIMAL_PLACES = 9
MAX_SUMS = 20  # channels, and models
MAX_STORED = 2**63 - 1  # 64-bit column: about 9.2 thousand million dollars

_OF_CHANNEL = select(budgets.c.allowed, budgets.c.spent, budgets.c.estimated).where(
    budgets.c.channel == bindparam("in_channel")
)
_LIMIT = text(
    "INSERT INTO budgets (channel, allowed, spent, estimated) VALUES (:channel, :allowed, 0, 0)"
    " ON CONFLICT (channel) DO UPDATE SET allowed = excluded.allowed"
).bindparams(bindparam("channel", type_=AnyText), bindparam("allowed", type_=BigInteger))
_SPEND = text(
    "INSERT INTO budgets (channel, spent, estimated) VALUES (:channel, :cost, :estimated)"
    " ON CONFLICT (channel) DO UPDATE"
    " SET spent = budgets.spent + excluded.spent, estimated = budgets.estimated + excluded.estimated"
).bindparams(
    bindparam("channel", type_=AnyText),
    bindparam("cost", type_=BigInteger),
    bindparam("estimated", type_=BigInteger),
)


_ADD_TO_DAY = text(
    "INSERT INTO spending_days (day, channel, model, cost, tokens) VALUES (:day, :channel, :model, :cost, :tokens)"
    " ON CONFLICT (day, channel, model) DO UPDATE"
    " SET cost = spending_days.cost + excluded.cost, tokens = spending_days.tokens + excluded.tokens"
).bindparams(
    *(bindparam(name, type_=AnyText) for name in ("day", "channel", "model")),
    *(bindparam(name, type_=BigInteger) for name in ("cost", "tokens")),
)

_FORGET_DAYS = delete(spending_days).where(spending_days.c.day < bindparam("before"))


def _sum_by(column: str) -> Select[Any]:
    name, cost, tokens = spending_days.c[column], func.sum(spending_days.c.cost), func.sum(spending_days.c.tokens)
    sums = select(literal(column).label("by"), name.label("name"), cost.label("cost"), tokens.label("tokens"))
    grouped = sums.where(spending_days.c.day >= bindparam("since")).group_by(name)
    most = grouped if column == "day" else grouped.order_by(cost.desc(), tokens.desc(), name).limit(MAX_SUMS)
    return select(most.subquery())


_SUMS = union_all(*(_sum_by(column) for column in ("day", "channel", "model")))


class SqlChannelBudgets(SqlRepository):
    """See `Budgets` in the ports."""

    async def of(self, channel: ChannelScope) -> Budget:
        rows = await self._buffer.rows(_OF_CHANNEL, {"in_channel": channel.key})
        return budget_from(rows[0].allowed, rows[0].spent, rows[0].estimated) if rows else Budget()

    def set_limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        values = {"channel": channel.key, "allowed": None if limit is None else to_nanodollars(limit)}
        self._buffer.queue(_LIMIT, values, key=("limit", channel))

    def add_spending(self, channel: ChannelScope, cost: Decimal, estimated: Decimal = FREE) -> None:
        values = {"channel": channel.key, "cost": to_nanodollars(cost), "estimated": to_nanodollars(estimated)}
        self._buffer.queue(_SPEND, values)

    def add_to_day(self, channel: ChannelScope, at: datetime, model: str, usage: Usage) -> None:
        named = {"day": at.astimezone(UTC).date().isoformat(), "channel": channel.key, "model": model}
        spent = {"cost": to_nanodollars(usage.cost), "tokens": usage.prompt + usage.completion}
        # after all other records, and in one order, so that no two commits wait for each other
        self._buffer.queue(_ADD_TO_DAY, {**named, **spent}, place=f"spending {channel.key} {model}")

    def forget_days(self, before: str) -> None:
        self._buffer.queue(_FORGET_DAYS, {"before": before})

    async def sum_days(self, since: str) -> SpendingSums:
        found: dict[str, list[Spent]] = {"day": [], "channel": [], "model": []}
        for row in await self._buffer.rows(_SUMS, {"since": since}):
            found[row.by].append(Spent(row.name, from_nanodollars(int(row.cost)), int(row.tokens)))
        days = sorted(found["day"], key=lambda day: day.name)
        channels, models = (
            tuple(sorted(found[each], key=lambda one: (one.cost, one.tokens), reverse=True))
            for each in ("channel", "model")
        )
        return SpendingSums(tuple(days), channels, models)


def budget_from(allowed: int | None, spent: int, estimated: int) -> Budget:
    """A budget from its columns."""
    limit = None if allowed is None else from_nanodollars(allowed)
    return Budget(limit=limit, spent=from_nanodollars(spent), estimated=from_nanodollars(estimated))


def to_nanodollars(amount: Decimal) -> int:
    """The amount in 10^-9 dollars, rounded up; raise ValueError if it does not fit into 64 bits."""
    if not amount.is_finite() or abs(amount) > from_nanodollars(MAX_STORED):
        raise ValueError(f"{amount} US dollars cannot be stored.")
    return int(amount.scaleb(DECIMAL_PLACES).to_integral_value(ROUND_UP))


def from_nanodollars(number: int) -> Decimal:
    return Decimal(number).scaleb(-DECIMAL_PLACES)


_ID = reservations.c.id == bindparam("the_id")
_FIND = select(reservations).where(_ID)
_OF = select(reservations).where(reservations.c.worker == bindparam("of_worker")).order_by(reservations.c.id)
_WORKERS = select(reservations.c.worker).distinct().order_by(reservations.c.worker)
_REMOVE = delete(reservations).where(_ID)

_AMOUNT = reservations.c.spent + reservations.c.held
_OF_ROOT = case((reservations.c.root_id == bindparam("root"), _AMOUNT), else_=0)
_BUDGET = budgets.c.channel == bindparam("in_channel")
_ROOT = (agents.c.id == bindparam("root"), agents.c.channel == bindparam("in_channel"))
_FUNDS: Executable = select(
    func.coalesce(func.sum(_AMOUNT), 0).label("reserved"),
    func.coalesce(func.sum(_OF_ROOT), 0).label("reserved_of_root"),
    select(budgets.c.allowed).where(_BUDGET).scalar_subquery().label("allowed"),
    select(budgets.c.spent).where(_BUDGET).scalar_subquery().label("spent"),
    select(agents.c.data).where(*_ROOT).scalar_subquery().label("root_agent"),
).where(reservations.c.channel == bindparam("in_channel"), reservations.c.id != bindparam("the_id"))
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('signoff/reservations/' || :in_channel, 0))").bindparams(
    bindparam("in_channel", type_=AnyText)
)
_PUT = text(
    "INSERT INTO reservations (id, channel, agent_id, root_id, worker, kind, model, spent, held, since)"
    " VALUES (:id, :channel, :agent_id, :root_id, :worker, :kind, :model, :spent, :held, :since)"
    " ON CONFLICT (id) DO UPDATE"
    " SET kind = excluded.kind, model = excluded.model, spent = excluded.spent, held = excluded.held"
).bindparams(
    *(bindparam(name, type_=AnyText) for name in ("id", "channel", "agent_id", "root_id", "worker", "kind", "model")),
    *(bindparam(name, type_=BigInteger) for name in ("spent", "held")),
    bindparam("since", type_=UtcDateTime),
)


class SqlReservations(SqlRepository):
    """See `Reservations` in the ports."""

    async def find(self, reservation_id: ReservationId) -> Reservation | None:
        rows = await self._buffer.rows(_FIND, {"the_id": reservation_id})
        return _reservation(rows[0]) if rows else None

    async def of(self, worker: str) -> tuple[Reservation, ...]:
        return tuple(_reservation(row) for row in await self._buffer.rows(_OF, {"of_worker": worker}))

    async def workers(self) -> tuple[str, ...]:
        return tuple(row.worker for row in await self._buffer.rows(_WORKERS, {}))

    async def funds(self, account: Account, *, without: ReservationId | None = None) -> Funds:
        (row,) = await self._buffer.rows(_FUNDS, _account_values(account, without))
        return _funds(row, account)

    def take(self, reservation: Reservation, estimate: Decimal) -> None:
        values = _account_values(reservation.account, reservation.id)
        decide = partial(_take, reservation, estimate)
        self._buffer.queue_decided(DecidedWrite(lock=_LOCK, query=_FUNDS, values=values, decide=decide))

    def remove(self, reservation_id: ReservationId, *, must_exist: bool) -> None:
        self._buffer.queue(_REMOVE, {"the_id": reservation_id}, checked=must_exist)


def _take(reservation: Reservation, estimate: Decimal, rows: Sequence[Row[Any]]) -> Sequence[Write]:
    """The write that saves the reservation; raise OverBudget. The lock keeps out others of the channel meanwhile.

    A statement that begins after the lock sees everything that was committed before. Charging a step needs no lock,
    because it moves money from a reservation to the budgets in one transaction.
    """
    (row,) = rows
    if why := _funds(row, reservation.account).refusal(reservation.spent, reservation.held, estimate):
        raise OverBudget(why)
    account = reservation.account
    columns = {
        "id": reservation.id,
        "channel": account.channel.key,
        "agent_id": account.agent,
        "root_id": account.root,
        "worker": reservation.worker,
        "kind": reservation.kind,
        "model": reservation.model,
        "spent": to_nanodollars(reservation.spent),
        "held": to_nanodollars(reservation.held),
        "since": reservation.since,
    }
    return (Write(_PUT, columns),)


def _account_values(account: Account, without: ReservationId | None) -> Mapping[str, Any]:
    return {"in_channel": account.channel.key, "root": account.root, "the_id": without or ""}


def _funds(row: Row[Any], account: Account) -> Funds:
    return Funds(
        agent=_root_budget(row.root_agent) if account.root else Budget(),
        channel=budget_from(row.allowed, row.spent or 0, 0),
        reserved_of_agent=from_nanodollars(int(row.reserved_of_root)),
        reserved_of_channel=from_nanodollars(int(row.reserved)),
    )


def _root_budget(data: str | None) -> Budget:
    return decode(Agent, data).budget if data else Budget(limit=FREE)


def _reservation(row: Row[Any]) -> Reservation:
    return Reservation(
        id=ReservationId(row.id),
        account=Account(
            channel=ChannelScope.parse(row.channel),
            agent=AgentId(row.agent_id) if row.agent_id else None,
            root=AgentId(row.root_id) if row.root_id else None,
        ),
        worker=row.worker,
        kind=row.kind,
        model=row.model,
        spent=from_nanodollars(row.spent),
        held=from_nanodollars(row.held),
        since=row.since,
    )
