"""What an approval of N commands grants, and when it ends by itself."""

from collections.abc import Sequence
from datetime import datetime

from agent_core.errors import InvalidInput
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.command import RiskClass
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.lease import Lease, covered_classes
from agent_core.model.result import Failed
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide
from agent_core.oversight.untrusted_content import is_held_back

SAME_CALL_MOST = 2
ERRORS_MOST = 2


def require_approvable(times: int) -> None:
    """Raise InvalidInput unless an answer to a proposal may approve so many commands: from 2 to 50."""
    if not MIN_LEASE_COMMANDS <= times <= MAX_LEASE_COMMANDS:
        raise InvalidInput(
            {"times": f"Approve ×N: a number from {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}, not {times}."}
        )


def require_within_limit(times: int, limit: int | None) -> None:
    """Raise InvalidInput for more commands than the operator's limit allows; None is no limit."""
    if limit is not None and times > limit:
        commands = "1 command" if limit == 1 else f"{limit} commands"
        raise InvalidInput(
            {"times": f"At most {commands} may run without asking here, not {times}: the operator's limit."}
        )


def grant(times: int, risks: tuple[RiskClass, ...], *, by: Actor, at: datetime) -> Lease:
    """A lease over every class except execute and publish, and those too if the command at hand is one.

    Raise InvalidInput when `times` is below 1.
    """
    if times < 1:
        raise InvalidInput({"times": f"A number of commands from 1, not {times}."})
    return Lease(granted_by=by, granted_at=at, total=times, left=times, classes=covered_classes(risks))


def why_end_before(agent: Agent, turn: Turn, earlier: Sequence[Turn], granter: Actor | None) -> str:
    """Why the agent's lease does not cover this proposal, as the rest of a sentence; "" when it does.

    `earlier` are the turns before it, in order; `granter` is who granted the lease as their platform knows them now,
    None where it does not say.
    """
    lease = agent.lease
    if lease is None:
        return "there is none"
    if granter is None:
        return f"whether {lease.granted_by} may still approve here cannot be found out now"
    if not may_decide(agent, granter):
        return f"{lease.granted_by} may not approve here any more"
    if is_held_back(agent, turn.risks):
        return f"it was given untrusted content since, and now wants {turn.call.name}"
    if not lease.covers(turn.risks):
        outside = ", ".join(risk for risk in turn.risks if risk not in lease.classes)
        return f"{turn.call.name} is of class {outside}, which was not granted"
    same = sum(before.call == turn.call for before in earlier if before.state == "done")
    if same >= SAME_CALL_MOST:
        return f"{turn.call.name} was proposed with the same arguments for the third time"
    return "the budget is nearly spent" if agent.budget.nearly_spent else ""


def why_end_after(ended: Sequence[Turn]) -> str:
    """Why a lease ends after the last of these turns ran; "" when it goes on."""
    last = ended[-ERRORS_MOST:]
    failed = len(last) == ERRORS_MOST and all(isinstance(turn.result, Failed) for turn in last)
    return "two commands in a row failed" if failed else ""
