"""Decides whether a command may run: the one pure function that the loop and every surface ask.

the operator's ceiling ─► never ─► untrusted content ─► two people ─► free classes ─► lease ─► one person
(always asks, two people)  └ Denied  └────── Asks ──────┘    └── Allowed ──┘   (Asks)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_core.errors import NotPossible, PersonError
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.lease import Lease
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.oversight.lease import why_not_covered
from agent_core.oversight.policy import denied_classes, may_approve, never_text, require_may_approve
from agent_core.oversight.untrusted_content import requires_approval

PERMISSION_ENDED = "The permission to run this without asking ended before it started."
ONE_APPROVED = "Two people must approve this now."
LOST_RIGHT = "{} may not approve this any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Granters:
    """The people whose permission an agent uses, with their current rights.

    `chooser` chose the agent's free classes, `channel_chooser` those of its channel, `granter` granted the lease. Each
    is None if the agent does not use the permission, or if the platform gave no answer.
    """

    chooser: Actor | None = None
    channel_chooser: Actor | None = None
    granter: Actor | None = None
    lease: Lease | None = None

    def chooser_of(self, agent: Agent) -> Actor | None:
        """Who chose the agent's free classes, with the rights that were just looked up.

        None if the platform gave no answer, or if another person has chosen them since.
        """
        return _same(self.chooser, agent.free_chooser)

    def channel_chooser_of(self, agent: Agent) -> Actor | None:
        """Who chose the channel's free classes; None as for `chooser_of`."""
        return _same(self.channel_chooser, agent.channel_policy.free_by)

    def granter_of(self, lease: Lease) -> Actor | None:
        """Who granted this lease, with the rights that were just looked up; None if the platform gave no answer.

        For a lease that was granted after the look-up, the rights are those saved in the lease.
        """
        is_known = self.lease is not None and self.lease.granted_at == lease.granted_at
        return self.granter if is_known else lease.granted_by


NOBODY = Granters()


@dataclass(frozen=True, slots=True)
class Allowed:
    """It runs. `by`: who allowed it; `decision`: that person's approval, or what stands for it."""

    by: Actor
    decision: Approve


@dataclass(frozen=True, slots=True)
class Asks:
    """It waits for as many people. `ends_lease`: why the agent's lease ends with this, or ""."""

    people: Literal[1, 2] = 1
    ends_lease: str = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """It does not run, or this person's approval does not let it run."""

    error: PersonError


Verdict: TypeAlias = Allowed | Asks | Denied


def evaluate(
    agent: Agent,
    turn: Turn,
    granters: Granters = NOBODY,
    earlier: Sequence[Turn] = (),
    person: Actor | None = None,
) -> Verdict:
    """Whether an open turn may run: without asking, or because this person approves it.

    `earlier`: the previous turns in order. `granters`: whose permission it may use without asking.
    Of two people who must approve, the first gets Asks.
    """
    if denied := denied_classes(agent, turn):
        return Denied(NotPossible(never_text(turn.call.name, denied)))
    people: Literal[1, 2] = 2 if turn.requires_two(agent.policy_in_force) else 1
    if person is not None:
        return _approved_by(agent, turn, person, people)
    lease = agent.lease if agent.lease and not agent.lease.paused_by else None
    why = why_not_covered(agent, turn, earlier, granters.granter_of(lease)) if lease else ""
    if turn.always_asks:
        return Asks(people)
    if requires_approval(agent, turn) or people > 1:
        return Asks(people, why)
    if free := _free(agent, turn, granters):
        return free
    if lease is None or why:
        return Asks(people, why)
    return Allowed(lease.granted_by, Approve(under="lease", granted_at=lease.granted_at))


def why_not_allowed_now(agent: Agent, turn: Turn) -> str:
    """Why an approved turn is asked again before it starts; "" if its people, lease or policy still cover it."""
    if denied := denied_classes(agent, turn):
        return never_text(turn.call.name, denied)
    people = {approval.by.id for approval in turn.approvals}
    if turn.requires_two(agent.policy_in_force) and len(people) < 2:
        return ONE_APPROVED
    last = turn.approvals[-1]
    match last.decision:
        case Approve(under="lease", granted_at=granted_at):
            lease = agent.lease
            if lease is None or lease.granted_at != granted_at or lease.paused_by:
                return PERMISSION_ENDED
            holds = lease.covers(turn) and not requires_approval(agent, turn)
            holds = holds and may_approve(agent, turn, lease.granted_by)
        case Approve(under="policy"):
            stored = Granters(chooser=last.by, channel_chooser=last.by)
            holds = not requires_approval(agent, turn) and _free(agent, turn, stored) is not None
        case _:
            lost = (approval.by for approval in turn.approvals if not may_approve(agent, turn, approval.by))
            return next((LOST_RIGHT.format(person) for person in lost), "")
    return "" if holds else PERMISSION_ENDED


def _approved_by(agent: Agent, turn: Turn, person: Actor, people: Literal[1, 2]) -> Verdict:
    try:
        require_may_approve(agent, turn, person)
    except PersonError as refused:
        return Denied(refused)
    first = turn.first_approval
    if people == 1 or (first and first.by.id != person.id and may_approve(agent, turn, first.by)):
        return Allowed(person, Approve())
    return Asks(people)


def _free(agent: Agent, turn: Turn, granters: Granters) -> Allowed | None:
    """The turn's classes are all free by the agent's policy, or all by the channel's; None if they are not."""
    if turn.always_asks:
        return None
    policy, risks = agent.channel_policy, set(turn.risks)
    chooser, channel_chooser = granters.chooser_of(agent), granters.channel_chooser_of(agent)
    if chooser and risks <= set(agent.policy_in_force.free) and may_approve(agent, turn, chooser):
        return Allowed(agent.free_chooser, Approve(under="policy", granted_at=agent.free_at or agent.created_at))
    if channel_chooser and risks <= set(policy.classes("free")) and may_approve(agent, turn, channel_chooser):
        return Allowed(channel_chooser, Approve(under="policy", granted_at=policy.free_at))
    return None


def _same(found: Actor | None, wanted: Actor | None) -> Actor | None:
    return found if found and wanted and found.id == wanted.id else None
