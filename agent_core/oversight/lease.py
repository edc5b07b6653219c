"""The rules on leases: who gets one, which turns it covers, when it ends. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, STEPS, Failed
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS, NO_LIMITS, LeaseLimits
from agent_core.model.model_calls import FREE
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.model.permissions import Lease, covered_classes
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_approve
from agent_core.oversight.untrusted_content import requires_approval
from agent_core.text.lines import listed

MAX_SAME_CALLS = 2
MAX_FAILURES_IN_A_ROW = 2


def require_approvable(times: int) -> None:
    """Raise InvalidInput unless the number of approved commands is from 2 to 50."""
    if not MIN_LEASE_COMMANDS <= times <= MAX_LEASE_COMMANDS:
        raise InvalidInput(
            {"times": f"Approve ×N: a number from {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}, not {times}."}
        )


def require_one_command(times: int, agent: Agent, turn: Turn) -> None:
    """Raise InvalidInput for an Approve ×N of a command that two people approve."""
    if times != 1 and turn.requires_two(agent.policy_in_force):
        raise InvalidInput({"times": f"Two people approve {turn.call.name}, one command at a time: press Approve."})


def require_within_limit(times: int, limit: int | None) -> None:
    """Raise InvalidInput if the number exceeds the operator's limit; None is no limit."""
    if limit is not None and times > limit:
        commands = "1 command" if limit == 1 else f"{limit} commands"
        raise InvalidInput(
            {"times": f"At most {commands} may run without asking here, not {times}: the operator's limit."}
        )


def grant(
    times: int, turn: Turn, *, by: Actor, at: datetime, limits: LeaseLimits = NO_LIMITS, spent: Decimal = FREE
) -> Lease:
    """The lease of an Approve ×N on this turn; it counts the turn's command as its first.

    `spent`: what the agent has spent so far. Raise InvalidInput for limits under which it would cover nothing.
    """
    covered = covered_classes(turn.risks)
    classes = tuple(risk for risk in covered if not limits.only or risk in limits.only)
    if not set(turn.risks) <= set(classes):
        raise InvalidInput({"times": f"Approve ×N: this command is of class {', '.join(turn.risks)}: name that too."})
    if (limits.until and limits.until <= at) or (limits.dollars is not None and limits.dollars <= 0):
        raise InvalidInput({"times": "Approve ×N: that limit is reached already."})
    return Lease(
        granted_by=by,
        granted_at=at,
        total=times,
        left=times,
        classes=classes,
        source=turn.source,
        limits=limits,
        spent_before=spent,
    )


def grant_unattended(times: int, *, by: Actor, at: datetime) -> Lease:
    """A lease over every class, for a terminal that asks nobody; raise InvalidInput if `times` is below 1."""
    if times < 1:
        raise InvalidInput({"times": f"A number of commands from 1, not {times}."})
    return Lease(granted_by=by, granted_at=at, total=times, left=times, classes=RISK_CLASSES, is_unattended=True)


def why_not_covered(agent: Agent, turn: Turn, earlier: Sequence[Turn], granter: Actor | None, now: datetime) -> str:
    """Why the agent's lease does not cover this proposal, as the rest of a sentence; "" if it does.

    `earlier`: the previous turns in order.
    `granter`: the person who granted the lease, with current membership; None if the platform gave no answer.
    """
    lease = agent.lease
    if lease is None:
        return "there is none"
    if granter is None:
        return f"whether {lease.granted_by} may still approve here cannot be found out now"
    if not may_approve(agent, turn, granter):
        return f"{lease.granted_by} may not approve here any more"
    if requires_approval(agent, turn):
        return f"it was given untrusted content since, and now wants {turn.call.name}"
    if turn.requires_two(agent.policy_in_force):
        return f"two people approve {turn.call.name}"
    if not lease.covers(turn):
        return _why_outside(lease, turn)
    same = sum(before.call == turn.call for before in earlier if before.state == "done")
    if same >= MAX_SAME_CALLS:
        return f"{turn.call.name} was proposed with the same arguments for the third time"
    return limit_reached(lease, agent, now)


def limit_reached(lease: Lease, agent: Agent, now: datetime) -> str:
    """Which limit is reached, of the lease or the budget, as the rest of a sentence; "" for none."""
    limits = lease.limits
    if limits.until and now >= limits.until:
        return f"its time ended at {limits.until:%H:%M} UTC"
    if limits.dollars is not None and agent.budget.spent - lease.spent_before >= limits.dollars:
        return f"${limits.dollars:,.2f} are spent under it"
    return "the budget is nearly spent" if agent.budget.nearly_spent else ""


def why_lease_ends(ended: Sequence[Turn]) -> str:
    """Why the lease ends after the last of these turns; "" if it continues."""
    last = ended[-MAX_FAILURES_IN_A_ROW:]
    failed = len(last) == MAX_FAILURES_IN_A_ROW and all(isinstance(turn.result, Failed) for turn in last)
    return "two commands in a row failed" if failed else ""


def end_lease(agent: Agent, why: str, now: datetime) -> tuple[Agent, tuple[Notice, ...]]:
    """End the agent's lease and post the reason; without a lease nothing changes."""
    if agent.lease is None:
        return agent, ()
    lease = agent.lease
    text = f"{lease} ended with {lease.left} of {lease.total} left: {why}."
    return replace(agent, lease=None), (Notice.to(agent, "lease ended", text, now),)


def _why_outside(lease: Lease, turn: Turn) -> str:
    outside = [STEPS[risk] for risk in turn.risks if risk not in lease.classes]
    if outside:
        return f"it does not include {listed(outside)} ({turn.call.name})"
    if turn.finishes:
        return f"the end of the work always asks ({turn.call.name})"
    whose = f" of {turn.source_name}" if turn.source else ""
    return f"{turn.call.name}{whose} always asks"
