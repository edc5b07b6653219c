"""What a step of an agent reserves for its model calls, who pays, and the budgets that calls are checked against."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Self

from agent_core.model.agent import Agent, AgentStatus, Paused
from agent_core.model.ids import AgentId, ReservationId
from agent_core.model.model_calls import FREE, Budget, CallKind
from agent_core.model.origin import ChannelScope

REACHED = " budget is reached"  # of an agent or a channel, in the reason of a pause


def reached_budget(status: AgentStatus) -> Literal["", "agent", "channel"]:
    """Whose budget paused an agent, "" for none."""
    if not isinstance(status, Paused):
        return ""
    if status.reason.startswith(f"The channel's{REACHED}"):
        return "channel"
    return "agent" if status.reason.startswith(f"The{REACHED}") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who pays for a call: the channel, the agent that makes it and its root agent; without an agent, the channel."""

    channel: ChannelScope
    agent: AgentId | None = None
    root: AgentId | None = None

    @classmethod
    def of(cls, agent: Agent) -> Self:
        return cls(channel=agent.channel, agent=agent.id, root=agent.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What one step has spent and reserves, in US dollars, until the save that charges it.

    `spent`: the cost of its calls that have ended; `held`: the most that its calls in progress may cost.
    `worker`: the id of the process. `kind`, `model`: of the newest call.
    """

    id: ReservationId
    account: Account
    worker: str
    kind: CallKind
    model: str
    spent: Decimal = FREE
    held: Decimal
    since: datetime

    @property
    def amount(self) -> Decimal:
        return self.spent + self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Funds:
    """The budgets of a root agent and of its channel, with what other steps reserve of each."""

    agent: Budget = Budget()
    channel: Budget = Budget()
    reserved_of_agent: Decimal = FREE
    reserved_of_channel: Decimal = FREE

    def left(self, used: Decimal) -> Decimal | None:
        """US dollars that remain of the budget with less left; None without a limit.

        `used`: what the step itself has spent and reserves.
        """
        remainders = [
            budget.limit - budget.spent - reserved - used
            for budget, _, reserved in self._budgets()
            if budget.limit is not None
        ]
        return min(remainders, default=None)

    def refusal(self, spent: Decimal, held: Decimal, estimate: Decimal) -> str:
        """Why a call that may cost `estimate` is not made, or "" if both budgets afford it.

        `spent`: what the step has spent; `held`: what it reserves, with this call.
        """
        for budget, whose, reserved in self._budgets():
            if budget.limit is not None and not budget.affords(spent + held + reserved):
                command = "!budget" if budget is self.agent else "!budget channel"
                return (
                    f"{whose}{REACHED}: ${budget.spent + spent:.2f} of ${budget.limit:.2f} is spent and the "
                    f"next call may cost ${estimate:.3f}. Raise the budget with {command} N, then Resume."
                )
        return ""

    def _budgets(self) -> tuple[tuple[Budget, str, Decimal], ...]:
        """Each budget, its name in a sentence, and what others reserve of it."""
        return (self.agent, "The", self.reserved_of_agent), (self.channel, "The channel's", self.reserved_of_channel)
