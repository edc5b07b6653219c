"""What may be spent: every call to a model is weighed against the budgets of agent and channel before it is made."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from agent_core.errors import OverBudget
from agent_core.model.usage import FREE, Budget, CallKind, Usage

NOTHING = Budget()


@dataclass(slots=True)
class SpendingTracker:
    """What one step of an agent may spend and has spent. `held` is what calls under way may cost at most.

    `agent` is what the agent may spend, with all that help the same `head`; `channel` is the channel's budget. Both are
    as they were read; `others` are the trackers of the channel's agents now.
    """

    agent: Budget = NOTHING
    channel: Budget = NOTHING
    spent: dict[CallKind, Usage] = field(default_factory=dict)
    held: Decimal = FREE
    others: list["SpendingTracker"] = field(default_factory=list, repr=False)
    head: str = ""

    @property
    def total(self) -> Usage:
        """All calls together."""
        return sum(self.spent.values(), Usage())

    @contextmanager
    def call(self, estimate: Decimal | None, model: str) -> Iterator[None]:
        """Make a call that may cost up to `estimate` US dollars; raise OverBudget instead where that is too much."""
        if why := self._why_not(estimate, model):
            raise OverBudget(why)
        self.held += estimate or FREE
        try:
            yield
        finally:
            self.held -= estimate or FREE

    def pay(self, kind: CallKind, usage: Usage) -> None:
        """Record what a call took."""
        self.spent[kind] = self.spent.get(kind, Usage()) + usage

    def settle(self) -> dict[CallKind, Usage]:
        """What was spent since the last time, to be saved: from here on the budgets count it."""
        spent, self.spent = self.spent, {}
        cost = sum(spent.values(), Usage()).cost
        self.agent, self.channel = self.agent.spend(cost), self.channel.spend(cost)
        return spent

    def _why_not(self, estimate: Decimal | None, model: str) -> str:
        if self.agent.limit is None and self.channel.limit is None:
            return ""
        if estimate is None:
            return f"No price is known for {model}, so the budget cannot be kept. Set MODEL_PRICES, or lift the budget."
        others = [tracker for tracker in self.others if tracker is not self]
        family = _committed(tracker for tracker in others if tracker.head and tracker.head == self.head)
        for budget, whose, committed in (
            (self.agent, "The", family),
            (self.channel, "The channel's", _committed(others)),
        ):
            spent = budget.spent + self.total.cost
            if not budget.affords(self.total.cost + self.held + committed + estimate):
                return (
                    f"{whose} budget is reached: ${spent:.2f} of ${budget.limit:.2f} is spent and the next call may "
                    f"cost ${estimate:.3f}. Raise the budget, then Resume."
                )
        return ""


def _committed(trackers: Iterable[SpendingTracker]) -> Decimal:
    return sum((tracker.held + tracker.total.cost for tracker in trackers), FREE)
