"""What a thought, a result or a fault makes of an agent. Each function queues its saves in the unit of work given."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent_core.loop.thinking import Delayed, Proposed
from agent_core.model.agent import Acting, Agent, Awaiting, Finished, Paused, Thinking
from agent_core.model.decision import Approve
from agent_core.model.ids import TurnId, new_id
from agent_core.model.note import Note, Notice
from agent_core.model.result import Succeeded
from agent_core.model.turn import Turn
from agent_core.model.usage import Usage
from agent_core.oversight.lease import why_end_after, why_end_before
from agent_core.oversight.policy import is_free
from agent_core.ports.database import UnitOfWork

UNUSABLE_MOST = 3


def propose(
    work: UnitOfWork, agent: Agent, thought: Proposed, earlier: Sequence[Turn], notes: Sequence[Note], now: datetime
) -> Agent:
    """Make the agent's next turn; it runs unasked where the policy or a lease says so."""
    turn = Turn(
        id=TurnId(new_id(now)),
        agent_id=agent.id,
        channel=agent.channel,
        number=agent.turns + 1,
        proposal=thought.proposal,
        risks=thought.spec.risks,
        usage=agent.unbilled,
        proposed_at=now,
    )
    numbered = replace(agent, turns=turn.number, unusable=0, complaint="", unbilled=Usage())
    changed, put = _put(work, numbered, turn, earlier, now)
    work.turns.add(put)
    work.notes.take([note for note in notes if note.taken_into is None], turn.id)
    return changed


def complain(work: UnitOfWork, agent: Agent, problem: str, now: datetime) -> Agent:
    """Have the model told what was wrong with its reply; after three in a row the agent pauses."""
    told = replace(agent, unusable=agent.unusable + 1, complaint=problem)
    if told.unusable < UNUSABLE_MOST:
        return told
    why = f"The model's last {UNUSABLE_MOST} replies could not be used; the last one: {problem}"
    return pause(work, replace(told, unusable=0), f"{why} Write what to do differently, then Resume.", now)


def delay(agent: Agent, thought: Delayed, now: datetime) -> Agent:
    """Let the agent think again later."""
    tries = agent.status.tries + 1 if isinstance(agent.status, Thinking) else 1
    later = agent.become(Thinking(held_up=thought.why, tries=tries), now)
    return replace(later, wake_at=now + timedelta(seconds=thought.seconds))


def conclude(
    work: UnitOfWork, agent: Agent, turn: Turn, earlier: Sequence[Turn], *, finishes: bool, now: datetime
) -> Agent:
    """Go on after a command ended: a lease falls when it ran, and the agent thinks again or is done."""
    spent = replace(agent, lease=agent.lease.spend()) if agent.lease and turn.started_at else agent
    if not isinstance(agent.status, Acting):
        return spent
    if finishes and isinstance(turn.result, Succeeded):
        work.notes.announce(Notice.to(agent, "finished", f"{agent.name} is done: {turn.result.output}", now))
        return spent.become(Finished(turn.result.output), now)
    thinking = spent.become(Thinking(), now)
    ended = [before for before in earlier if before.state == "done" and before.id != turn.id]
    why = why_end_after([*ended, turn])
    return end_lease(work, thinking, why, now) if why else thinking


def pause(work: UnitOfWork, agent: Agent, reason: str, now: datetime) -> Agent:
    """Let the agent stand still and tell the thread why."""
    work.notes.announce(Notice.to(agent, "paused", f"paused: {reason}", now))
    return agent.become(Paused(reason), now)


def end_lease(work: UnitOfWork, agent: Agent, why: str, now: datetime) -> Agent:
    """Let people be asked again and tell the thread why."""
    if agent.lease is None:
        return agent
    lease = agent.lease
    said = f"The approval by {lease.granted_by} ended with {lease.left} of {lease.total} left: {why}."
    work.notes.announce(Notice.to(agent, "lease ended", said, now))
    return replace(agent, lease=None)


def _put(work: UnitOfWork, agent: Agent, turn: Turn, earlier: Sequence[Turn], now: datetime) -> tuple[Agent, Turn]:
    if is_free(agent.policy, turn.risks):
        return agent.become(Acting(), now), turn.decide(Approve(under="policy"), by=agent.owner, at=now)
    lease = agent.lease
    if lease is None:
        return agent.become(Awaiting(), now), turn
    if why := why_end_before(agent, turn, earlier):
        return end_lease(work, agent, why, now).become(Awaiting(), now), turn
    return agent.become(Acting(), now), turn.decide(Approve(under="lease"), by=lease.granted_by, at=now)
