"""Repository of channel budgets, stored as integers of 10^-9 US dollars."""

from decimal import ROUND_UP, Decimal

from sqlalchemy import BigInteger, bindparam, select, text

from agent_core.model.model_calls import FREE, Budget
from agent_core.model.origin import ChannelScope
from agent_core.persistence.tables import AnyText, budgets
from agent_core.persistence.write_buffer import SqlRepository

DECIMAL_PLACES = 9
MAX_STORED = 2**63 - 1  # 64-bit column: about 9.2 thousand million dollars

_OF = select(budgets.c.allowed, budgets.c.spent, budgets.c.estimated).where(
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


class SqlChannelBudgets(SqlRepository):
    """See `Budgets` in the ports."""

    async def of(self, channel: ChannelScope) -> Budget:
        rows = await self._buffer.rows(_OF, {"in_channel": channel.key})
        return budget_from(rows[0].allowed, rows[0].spent, rows[0].estimated) if rows else Budget()

    def set_limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        values = {"channel": channel.key, "allowed": None if limit is None else to_nanodollars(limit)}
        self._buffer.queue(_LIMIT, values, key=("limit", channel))

    def add_spending(self, channel: ChannelScope, cost: Decimal, estimated: Decimal = FREE) -> None:
        values = {"channel": channel.key, "cost": to_nanodollars(cost), "estimated": to_nanodollars(estimated)}
        self._buffer.queue(_SPEND, values)


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
