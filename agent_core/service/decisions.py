"""Checks a decision and saves it with its effects on turn, agent and decision log; also on interrupted commands."""

from dataclasses import replace
from datetime import datetime

from agent_core.errors import ChangedSinceShown, InvalidInput, NotPossible, UnusableReply
from agent_core.model.agent import Acting, Agent, Awaiting, Thinking
from agent_core.model.command import Interrupted, Succeeded
from agent_core.model.decision import Approval, Approve, ApproveEdited, Decision, Reject, Settlement, detail_of
from agent_core.model.origin import Actor
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn, TurnState
from agent_core.oversight.evaluation import Asks, Denied, evaluate, why_never
from agent_core.oversight.lease import end_lease, grant, require_approvable, require_one_command, require_within_limit
from agent_core.oversight.policy import require_may_approve, require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.spending.helper_tree import budget_of, may_others_write
from agent_core.toolset.arguments import argument_faults
from agent_core.toolset.registry import Commands


def validate_decision(decision: Decision, turn: Turn, commands: Commands, limit: int | None) -> Decision:
    """Return the decision; raise InvalidInput for invalid arguments, or if N of Approve ×N is above `limit`."""
    if isinstance(decision, Approve) and decision.times > 1:
        require_within_limit(decision.times, limit)
    if isinstance(decision, ApproveEdited):
        try:
            spec = commands.get(turn.proposal.call.name).spec
        except UnusableReply as gone:
            raise InvalidInput({"arguments": f"It cannot run any more: {gone}"}) from gone
        if faults := argument_faults(spec, decision.arguments):
            raise InvalidInput({"arguments": " ".join(faults)})
    return decision


async def record_decision(
    work: UnitOfWork, agent: Agent, turn: Turn, decision: Decision, *, by: Actor, at: datetime
) -> tuple[Agent, Turn]:
    """Save a decision and its effects on turn, agent and decision log; raise NotAllowed, AlreadyDecided, InvalidInput.

    An approval clears the exposures that the card showed, but no later ones, and none while another agent's command
    may write more into the folder. A rejection clears none and ends a lease. A paused lease goes on only as a new one.
    Where two people must approve, the turn stays open after the first approval, and people are called anew.
    """
    require_may_decide(agent, by)
    if turn.state == "proposed" and not isinstance(decision, Reject):
        turn, decision = _require_approvable_by(agent, turn, decision, by, at)
    answered = turn.decide(decision, by=by, at=at)
    changed = agent.become(STATUS_AFTER[answered.state], at)
    is_first = answered.first_approval is not None
    if turn.exposed and not (is_first or isinstance(decision, Reject)) and not await may_others_write(work, agent):
        changed = changed.clear_exposure(turn.exposures)
    match decision:
        case Approve(times, limits=limits) if times != 1:
            require_approvable(times)
            spent = (await budget_of(work, agent)).spent
            lease = grant(times, turn, by=by, at=at, limits=limits, spent=spent)
            changed = replace(changed, lease=lease.without_guarded() if changed.exposed else lease)
        case Reject():
            changed, ended = end_lease(changed, f"turn {turn.number} was rejected", at)
            for notice in ended:
                work.notes.announce(notice)
        case _:
            pass
    detail = " · ".join(filter(None, ("1 of 2" if is_first else "", detail_of(decision))))
    work.audit.append(AuditEntry.on(agent, decision.kind, by=by, at=at, detail=detail, turn=answered))
    work.turns.save(answered)
    work.agents.save(changed)
    return changed, answered


def _require_approvable_by(
    agent: Agent, turn: Turn, decision: Approve | ApproveEdited, by: Actor, at: datetime
) -> tuple[Turn, Approve | ApproveEdited]:
    """The turn and the decision as this person may take it; raise what `evaluate` says, and what two people rule out.

    The approval of a first person who may not approve any more no longer counts. What that person edited, and the card
    shows, is then what this one approves, as the first.
    """
    edited = replace(turn, approvals=(Approval(by, at, decision),)) if isinstance(decision, ApproveEdited) else turn
    if why := why_never(agent, edited, at):
        raise NotPossible(why)
    verdict = evaluate(agent, turn, at, person=by)
    if isinstance(verdict, Denied):
        raise verdict.error
    if not turn.requires_two(agent.policy_in_force):
        return turn, decision
    _require_for_two(agent, turn, decision)
    first, turn = turn.first_approval, replace(turn, needs_two=True)
    if first is None or first.by.id == by.id or not isinstance(verdict, Asks):
        return turn, decision
    if turn.is_edited and isinstance(decision, Approve):
        decision = ApproveEdited(turn.call.arguments)
    return replace(turn, approvals=()), decision


def _require_for_two(agent: Agent, turn: Turn, decision: Approve | ApproveEdited) -> None:
    """Raise InvalidInput for an Approve ×N, NotPossible where there is no second person."""
    if isinstance(decision, Approve):
        require_one_command(decision.times, agent, turn)
    if agent.policy.approvers == "owner":
        raise NotPossible(f"Two people approve {turn.call.name}, and only {agent.owner} may: let anyone approve first.")
    if agent.channel.surface == "terminal":
        way = "Reject it; after policy one CLASS, one person approves the next one"
        raise NotPossible(f"Two people approve {turn.call.name}, and a terminal has one. {way}.")


def require_as_shown(turn: Turn, shown: str) -> None:
    """Raise ChangedSinceShown unless `shown` is the hash of the turn as it is now."""
    if shown != turn.control_hash:
        raise ChangedSinceShown(turn.number, turn.remark)


def require_may_settle(agent: Agent, turn: Turn, settlement: Settlement, by: Actor, at: datetime) -> None:
    """Raise NotAllowed, or NotPossible for Run again of what never runs here. Who may decide may always skip it."""
    if settlement != "skip":
        require_may_approve(agent, turn, by)
    if settlement == "run again" and (why := why_never(agent, turn, at)):
        raise NotPossible(f"{why} Press It ran or Skip.")


def require_one_person(turn: Turn, settlement: Settlement) -> None:
    """Raise NotPossible for Run again of a command that two people approve: it would lose that it may have run."""
    if settlement == "run again" and turn.needs_two:
        raise NotPossible(f"Two people approve {turn.call.name}: press Skip, and the agent may propose it again.")


def settle_turn(turn: Turn, settlement: Settlement, *, by: Actor, at: datetime) -> Turn:
    """The turn after people said what became of an interrupted command."""
    known = turn.result if isinstance(turn.result, Interrupted) else Interrupted()
    match settlement:
        case "run again":
            return turn.run_again(by, at)
        case "it ran":
            printed = f"It printed:\n{known.output}" if known.output else "Its output is lost."
            return turn.settle(Succeeded(f"{by} says that it ran. {printed}", outside=known.outside), by, at)
        case "skip":
            return turn.settle(replace(known, by=by, is_skipped=True), by, at)


STATUS_AFTER: dict[TurnState, Acting | Awaiting | Thinking] = {
    "proposed": Awaiting(),
    "approved": Acting(),
    "rejected": Thinking(),
}
