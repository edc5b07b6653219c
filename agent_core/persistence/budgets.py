"""What channels may spend and have spent, in the database, as whole numbers of 10^-9 US dollars."""

from decimal import ROUND_UP, Decimal

from sqlalchemy import BigInteger, bindparam, select, text

from agent_core.model.channels import ChannelScope
from agent_core.model.usage import Budget
from agent_core.persistence.tables import AnyText, budgets
from agent_core.persistence.write_buffer import WriteBuffer

PLACES = 9
MOST = 2**63 - 1  # what a column of 64 bits holds: some nine thousand million dollars

_OF = select(budgets.c.allowed, budgets.c.spent).where(budgets.c.channel == bindparam("in_channel"))
_LIMIT = text(
    "INSERT INTO budgets (channel, allowed, spent) VALUES (:channel, :allowed, 0)"
    " ON CONFLICT (channel) DO UPDATE SET allowed = excluded.allowed"
).bindparams(bindparam("channel", type_=AnyText), bindparam("allowed", type_=BigInteger))
_SPEND = text(
    "INSERT INTO budgets (channel, spent) VALUES (:channel, :cost)"
    " ON CONFLICT (channel) DO UPDATE SET spent = budgets.spent + excluded.spent"
).bindparams(bindparam("channel", type_=AnyText), bindparam("cost", type_=BigInteger))


class SqlBudgets:
    """See `Budgets` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        self._buffer = buffer

    async def of(self, channel: ChannelScope) -> Budget:
        """The one that is committed."""
        rows = await self._buffer.rows(_OF, {"in_channel": channel.key})
        if not rows:
            return Budget()
        allowed = rows[0].allowed
        return Budget(limit=None if allowed is None else dollars(allowed), spent=dollars(rows[0].spent))

    def limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        """Insert or overwrite it at commit."""
        values = {"channel": channel.key, "allowed": None if limit is None else whole(limit)}
        self._buffer.queue(_LIMIT, values, key=("limit", channel))

    def spend(self, channel: ChannelScope, cost: Decimal) -> None:
        """Insert it or add to it at commit."""
        self._buffer.queue(_SPEND, {"channel": channel.key, "cost": whole(cost)})


def whole(amount: Decimal) -> int:
    """The amount in 10^-9 dollars, rounded up; raise ValueError for one that is too large to keep."""
    if not amount.is_finite() or abs(amount) > dollars(MOST):
        raise ValueError(f"{amount} US dollars cannot be kept.")
    return int(amount.scaleb(PLACES).to_integral_value(ROUND_UP))


def dollars(number: int) -> Decimal:
    """The amount that was kept as a whole number."""
    return Decimal(number).scaleb(-PLACES)
