"""The times of a turn (proposed, decided, run, ended), and what they tell: who waited for whom.

Values and functions without effects. A duration is a timedelta; None where the stored times do not tell it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Self

from agent_core.model.command import Failed, Interrupted
from agent_core.model.decision import Approval, Approve
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn, TurnState, object_of

NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The times of a turn; of its texts only what the command works on (`about`).

    `asked`: people were asked; False if a lease or the policy allowed the command.
    `decided_at`: the last decision of a person. A command that people let run again has only its second decision.
    `is_run_known`: False if the process died while the command ran, so that the time it took is not known.
    `has_failed`: whether the run ended with an error. `is_simulated`: nothing ran, as it was a dry run.
    """

    turn_id: TurnId
    agent_id: AgentId
    number: int
    command: str
    about: str = ""
    is_ours: bool = True
    state: TurnState
    asked: bool
    proposed_at: datetime
    decided_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_run_known: bool = True
    has_failed: bool = False
    is_simulated: bool = False

    @classmethod
    def of(cls, turn: Turn) -> Self:
        last = turn.approvals[-1] if turn.approvals else None
        asked = last is None or _is_by_person(last)
        return cls(
            turn_id=turn.id,
            agent_id=turn.agent_id,
            number=turn.number,
            command=turn.call.name,
            about=object_of(turn),
            is_ours=not turn.source,
            state=turn.state,
            asked=asked,
            proposed_at=turn.proposed_at,
            decided_at=last.at if last and asked and turn.state != "proposed" else None,
            started_at=turn.started_at,
            ended_at=turn.ended_at,
            is_run_known=_is_run_known(turn),
            has_failed=isinstance(turn.result, Failed),
            is_simulated=turn.is_simulated,
        )

    def waited(self, now: datetime) -> timedelta | None:
        """How long the agent waited for people: up to `now` while it asks, None if it did not ask."""
        if not self.asked:
            return None
        return max((self.decided_at or self.ended_at or now) - self.proposed_at, NOTHING)

    def ran(self, now: datetime) -> timedelta | None:
        """How long the command ran: up to `now` while it runs; None if it did not run, or that is not known."""
        if self.started_at is None or not self.is_run_known:
            return None
        return max((self.ended_at or now) - self.started_at, NOTHING)


@dataclass(frozen=True, slots=True)
class Rest:
    """A time at rest: paused, stopped or finished. `since` is None if no notice tells when it began."""

    since: datetime | None
    until: datetime

    def within(self, since: datetime, until: datetime) -> timedelta:
        """How much of the time from `since` to `until` this is."""
        begin = since if self.since is None else max(self.since, since)
        return max(min(self.until, until) - begin, NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTimes:
    """A turn and how long the agent thought, waited for people, and ran the command.

    `thought`: from the end of the turn before to the proposal, without the time at rest. It contains waits for the
    model and for helpers. `rested`: that time at rest.
    """

    timing: Timing
    thought: timedelta | None
    rested: timedelta
    waited: timedelta | None
    ran: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Median:
    """A median of `number` durations; None if there are none."""

    value: timedelta | None
    number: int

    @classmethod
    def of(cls, durations: Iterable[timedelta]) -> Self:
        found = [duration.total_seconds() for duration in durations]
        return cls(value=timedelta(seconds=median(found)) if found else None, number=len(found))


def rests_of(notices: Iterable[Notice]) -> tuple[Rest, ...]:
    """The times at rest that ended, from the notices of one agent, oldest first."""
    found: list[Rest] = []
    since: datetime | None = None
    for notice in notices:
        match notice.kind:
            case "paused" | "stopped" | "finished":
                since = since or notice.at
            case "resumed":
                found.append(Rest(since, notice.at))
                since = None
            case _:
                pass
    return tuple(found)


def times_of(
    timings: Sequence[Timing], rests: Sequence[Rest], *, begun_at: datetime, now: datetime
) -> tuple[TurnTimes, ...]:
    """How long each step of one agent's turns took; `timings` are in order. `begun_at`: when the agent was made."""
    ends = {timing.number + 1: timing.ended_at for timing in timings} | {1: begun_at}
    return tuple(_times_of(timing, ends.get(timing.number), rests, now) for timing in timings)


def people_waits(timings: Iterable[Timing]) -> Median:
    """How long agents waited for a person who then decided. An open proposal and a withdrawn one do not count."""
    return Median.of(each.decided_at - each.proposed_at for each in timings if each.decided_at is not None)


def agent_waits(timings: Iterable[Timing], rests: Sequence[Rest] = ()) -> Median:
    """How long people waited for an agent: from a person's decision to the same agent's next proposal.

    `rests`: the times at rest to leave out, if all timings are of one agent.
    """
    ordered = sorted(timings, key=lambda each: (each.agent_id, each.number))
    return Median.of(
        _without(rests, this.decided_at, following.proposed_at)
        for this, following in pairwise(ordered)
        if this.decided_at and (following.agent_id, following.number) == (this.agent_id, this.number + 1)
    )


def _times_of(timing: Timing, begun_at: datetime | None, rests: Sequence[Rest], now: datetime) -> TurnTimes:
    at = timing.proposed_at
    known = begun_at is not None and begun_at <= at
    return TurnTimes(
        timing=timing,
        thought=_without(rests, begun_at, at) if begun_at and known else None,
        rested=_rested(rests, begun_at, at) if begun_at and known else NOTHING,
        waited=timing.waited(now),
        ran=timing.ran(now),
    )


def _without(rests: Sequence[Rest], since: datetime, until: datetime) -> timedelta:
    return max(until - since - _rested(rests, since, until), NOTHING)


def _rested(rests: Sequence[Rest], since: datetime, until: datetime) -> timedelta:
    return sum((rest.within(since, until) for rest in rests if rest.until > since), NOTHING)


def _is_by_person(approval: Approval) -> bool:
    decision = approval.decision
    return not (isinstance(decision, Approve) and decision.under)


def _is_run_known(turn: Turn) -> bool:
    """Whether the command ended by itself or was stopped: what people say after a crash has no time of the run."""
    result = turn.result
    if turn.state == "interrupted" or (isinstance(result, Interrupted) and (result.by is None or result.is_skipped)):
        return False
    return isinstance(result, Interrupted) or turn.state != "done" or turn.ended_by is None
