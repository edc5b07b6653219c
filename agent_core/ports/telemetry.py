"""The port of telemetry: what took how long, in numbers, names and ids. No text of a person or a model goes through it.

The activities of one turn belong together by the agent's id and the turn's number, which every process knows.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.turn import Turn

# "turn": from the begin of its thought to its end. "decision": from the question to the answer of a person.
Activity: TypeAlias = Literal["turn", "think", "model call", "decision", "command", "card", "sweep"]
Fact: TypeAlias = str | int | float
Facts: TypeAlias = dict[str, Fact]


@dataclass(frozen=True, slots=True)
class TurnRef:
    """A turn that exists, or that the agent is about to propose."""

    agent_id: AgentId
    number: int

    @classmethod
    def of(cls, turn: Turn) -> "TurnRef":
        """The reference of this turn."""
        return cls(turn.agent_id, turn.number)


class Telemetry(Protocol):
    """Counts and times activities. It never waits for anything and never raises."""

    def watch(self, activity: Activity, turn: TurnRef | None = None, **facts: Fact) -> AbstractContextManager[Facts]:
        """Time the with-block, which may add facts. An error that leaves it is counted by its class, and goes on.

        Without a `turn`, it is a part of the activity around it, if there is one.
        """

    def record(self, activity: Activity, turn: TurnRef, began: datetime, ended: datetime, **facts: Fact) -> None:
        """Record what began and ended at saved times, perhaps in another process."""

    def count_rate_limit(self, source: str) -> None:
        """Count a rate limit that a platform or a model's endpoint answered with."""

    def count_usage(self, model: str, usage: Usage) -> None:
        """Count what is charged. `model`: the one that answered; for another service, the kind of call."""


class NoTelemetry:
    """Implements `Telemetry` where nobody watches."""

    def watch(self, activity: Activity, turn: TurnRef | None = None, **facts: Fact) -> AbstractContextManager[Facts]:
        """Yield facts that nobody reads."""
        return nullcontext(facts)

    def record(self, activity: Activity, turn: TurnRef, began: datetime, ended: datetime, **facts: Fact) -> None:
        """Do nothing."""

    def count_rate_limit(self, source: str) -> None:
        """Do nothing."""

    def count_usage(self, model: str, usage: Usage) -> None:
        """Do nothing."""


NOT_WATCHED = NoTelemetry()


def record_end(telemetry: Telemetry, turn: Turn) -> None:
    """Record the turn, if it has ended for good: a rejection that can be undone has not, until the next turn."""
    if turn.ended_at and not turn.undo:
        result = turn.result.kind if turn.result else ""
        facts = {"state": turn.state, "command": turn.call.name, "result": result}
        telemetry.record("turn", TurnRef.of(turn), turn.begun_at or turn.proposed_at, turn.ended_at, **facts)
