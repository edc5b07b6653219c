"""Spending limits: every model call is checked against the budgets of agent and channel before it is made."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from agent_core.errors import OverBudget
from agent_core.model.usage import FREE, Budget, CallKind, Usage

NO_BUDGET = Budget()
PRICE_SETTING = "its price"


@dataclass(slots=True)
class SpendingTracker:
    """What one step of an agent may spend and has spent, in US dollars.

    `agent`: the budget that an agent and its helpers share, as read from the database; `head`: the id of that agent.
    `channel`: the channel's budget, as read from the database.
    `spent`: the usage that was not settled yet; `held`: the estimated cost of calls in progress.
    `others`: the open trackers of the channel, this one included.
    `price_setting`: the name of the setting for prices, for error messages.
    """

    agent: Budget = NO_BUDGET
    channel: Budget = NO_BUDGET
    spent: dict[CallKind, Usage] = field(default_factory=dict)
    held: Decimal = FREE
    others: list["SpendingTracker"] = field(default_factory=list, repr=False)
    head: str = ""
    price_setting: str = PRICE_SETTING

    @property
    def total(self) -> Usage:
        return sum(self.spent.values(), Usage())

    @contextmanager
    def reserve(self, estimate: Decimal | None, model: str) -> Iterator[None]:
        """Reserve `estimate` US dollars during a call; raise OverBudget if a budget does not allow it."""
        if why := self._refusal(estimate, model):
            raise OverBudget(why)
        self.held += estimate or FREE
        try:
            yield
        finally:
            self.held -= estimate or FREE

    def record(self, kind: CallKind, usage: Usage) -> None:
        self.spent[kind] = self.spent.get(kind, Usage()) + usage

    def settle(self) -> dict[CallKind, Usage]:
        """Return the spending since the last call of this method, for saving, and add it to the budgets."""
        spent, self.spent = self.spent, {}
        cost = sum(spent.values(), Usage()).cost
        self.agent, self.channel = self.agent.spend(cost), self.channel.spend(cost)
        return spent

    @property
    def left(self) -> Decimal | None:
        """US dollars that remain of the budget with less left, after reservations; None without a budget."""
        remainders = [
            budget.limit - budget.spent - self.total.cost - self.held - committed
            for budget, _, committed in self._budgets()
            if budget.limit is not None
        ]
        return min(remainders, default=None)

    def _budgets(self) -> tuple[tuple[Budget, str, Decimal], ...]:
        """Each budget, its name in a sentence, and how much of it the other open trackers have spent and reserved."""
        others = [tracker for tracker in self.others if tracker is not self]
        helpers = _committed(tracker for tracker in others if tracker.head and tracker.head == self.head)
        return (self.agent, "The", helpers), (self.channel, "The channel's", _committed(others))

    def _refusal(self, estimate: Decimal | None, model: str) -> str:
        if self.agent.limit is None and self.channel.limit is None:
            return ""
        if estimate is None:
            advice = f"Set {self.price_setting}, or lift the budget."
            return f"No price is known for {model}, so the budget cannot be kept. {advice}"
        for budget, whose, committed in self._budgets():
            spent = budget.spent + self.total.cost
            if not budget.affords(self.total.cost + self.held + committed + estimate):
                return (
                    f"{whose} budget is reached: ${spent:.2f} of ${budget.limit:.2f} is spent and the next call may "
                    f"cost ${estimate:.3f}. Raise the budget, then Resume."
                )
        return ""


def _committed(trackers: Iterable[SpendingTracker]) -> Decimal:
    return sum((tracker.held + tracker.total.cost for tracker in trackers), FREE)
