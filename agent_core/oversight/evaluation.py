"""Decides whether a command may run: the one pure function that the loop and every surface ask.

the operator's ceiling ─► never ─► untrusted content ─► two people ─► rules ─► free classes ─► lease ─► one person
(always asks, two people)  └ Denied  └────── Asks ──────┘              └────── Allowed ─────┘   (Asks)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from agent_core.errors import NotPossible, PersonError
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.origin import Actor
from agent_core.model.permissions import Lease, is_open_to_rules
from agent_core.model.turn import Turn
from agent_core.oversight.lease import limit_reached, why_not_covered
from agent_core.oversight.policy import denied_classes, may_approve, never_text, require_may_approve
from agent_core.oversight.untrusted_content import requires_approval

PERMISSION_ENDED = "The permission to run this without asking ended before it started."
ONE_APPROVED = "Two people must approve this now."
LOST_RIGHT = "{} may not approve this any more."
NOT_KNOWN = "Whether {} may still approve this cannot be found out now."
NO_ONE: Mapping[str, Actor | None] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Granters:
    """The people whose permission an agent uses, with their current rights.

    `people`: who chose free classes or made rules. `granter` granted the lease. Somebody is not there, or None, if the
    agent does not use the permission, or if the platform gave no answer.
    """

    people: tuple[Actor, ...] = ()
    granter: Actor | None = None
    lease: Lease | None = None

    def find(self, person: Actor) -> Actor | None:
        """The person with the rights that were just looked up; None if the platform gave no answer."""
        return next((found for found in self.people if found.id == person.id), None)

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
    """It waits for as many people. `ends_lease`: why the agent's lease ends, or "". `remark`: for its card."""

    people: Literal[1, 2] = 1
    ends_lease: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """It does not run, or this person's approval does not let it run."""

    error: PersonError


Verdict: TypeAlias = Allowed | Asks | Denied


def evaluate(
    agent: Agent,
    turn: Turn,
    now: datetime,
    granters: Granters = NOBODY,
    earlier: Sequence[Turn] = (),
    person: Actor | None = None,
) -> Verdict:
    """Whether an open turn may run: without asking, or because this person approves it.

    `earlier`: the previous turns in order. `granters`: whose permission it may use without asking.
    Of two people who must approve, the first gets Asks.
    """
    if why := why_never(agent, turn, now):
        return Denied(NotPossible(why))
    people: Literal[1, 2] = 2 if turn.requires_two(agent.policy_in_force) else 1
    if person is not None:
        return _approved_by(agent, turn, person, people)
    lease = agent.lease if agent.lease and not agent.lease.paused_by else None
    why = why_not_covered(agent, turn, earlier, granters.granter_of(lease), now) if lease else ""
    if turn.always_asks:
        return Asks(people)
    if requires_approval(agent, turn) or people > 1:
        return Asks(people, why)
    by_rule = _by_rule(agent, turn, now, granters)
    if isinstance(by_rule, Allowed):
        return by_rule
    if free := _free(agent, turn, granters):
        return free
    if lease is None or why:
        return Asks(people, why, by_rule)
    return Allowed(lease.granted_by, Approve(under="lease", granted_at=lease.granted_at))


def why_never(agent: Agent, turn: Turn, now: datetime) -> str:
    """Why the command does not run in the channel, whoever approves it, as a sentence; "" if it may."""
    if denied := denied_classes(agent, turn):
        return never_text(turn.call.name, denied)
    never = next(
        (rule for rule in agent.read_rules if rule.effect == "never" and rule.applies(turn, now, agent.home)), None
    )
    return f"A rule of {never.by} says: {never.words}." if never else ""


def why_not_allowed_now(agent: Agent, turn: Turn, now: datetime, people: Mapping[str, Actor | None] = NO_ONE) -> str:
    """Why an approved turn is asked again before it starts; "" if people, lease, policy or rule still cover it.

    `people`: who approved it, by id, as the platform knows them now; None for who could not be looked up.
    """
    if why := why_never(agent, turn, now):
        return why
    if turn.requires_two(agent.policy_in_force) and len({approval.by.id for approval in turn.approvals}) < 2:
        return ONE_APPROVED
    decision = turn.approvals[-1].decision
    if isinstance(decision, Approve) and decision.under:
        is_open = not requires_approval(agent, turn)
        last = people.get(turn.approvals[-1].by.id, turn.approvals[-1].by)
        holds = is_open and last is not None and _still_holds(agent, turn, decision, now, last)
        return "" if holds else PERMISSION_ENDED
    for by in (approval.by for approval in turn.approvals):
        present = people.get(by.id, by)
        if present is None or not may_approve(agent, turn, present):
            return (LOST_RIGHT if present else NOT_KNOWN).format(by)
    return ""


def _still_holds(agent: Agent, turn: Turn, decision: Approve, now: datetime, last: Actor) -> bool:
    """Whether the lease, rule or free classes under which the turn was allowed are still there and cover it.

    `last`: whose permission it is, as the platform knows them now.
    """
    lease = agent.lease
    match decision.under:
        case "lease":
            is_same = lease is not None and lease.granted_at == decision.granted_at and not lease.paused_by
            if lease is None or not is_same or limit_reached(lease, agent, now):
                return False
            return lease.covers(turn) and may_approve(agent, turn, last)
        case "rule":
            rules = (rule for rule in agent.read_rules if rule.id == decision.rule_id)
            is_there = any(rule.applies(turn, now) for rule in rules)
            return is_there and is_open_to_rules(turn, is_exposed=agent.exposed) and may_approve(agent, turn, last)
        case _:
            stored = Granters(people=(last, *agent.channel_policy.free_by.values()))
            return _free(agent, turn, stored) is not None


def _approved_by(agent: Agent, turn: Turn, person: Actor, people: Literal[1, 2]) -> Verdict:
    try:
        require_may_approve(agent, turn, person)
    except PersonError as refused:
        return Denied(refused)
    first = turn.first_approval
    if people == 1 or (first and first.by.id != person.id and may_approve(agent, turn, first.by)):
        return Allowed(person, Approve())
    return Asks(people)


def _by_rule(agent: Agent, turn: Turn, now: datetime, granters: Granters) -> Allowed | str:
    """The first rule that allows the turn; else what the card says of one whose maker may not approve any more."""
    asleep = ""
    for rule in agent.read_rules:
        if (
            rule.effect != "allow"
            or rule.left == 0
            or not rule.applies(turn, now)
            or not is_open_to_rules(turn, is_exposed=agent.exposed)
        ):
            continue
        maker = granters.find(rule.by)
        if maker and may_approve(agent, turn, maker):
            return Allowed(
                rule.by, Approve(under="rule", granted_at=rule.at, rule=replace(rule, left=None).words, rule_id=rule.id)
            )
        why = "may not approve here any more" if maker else "could not be looked up now"
        asleep = f"A rule covers this and sleeps, because {rule.by} {why}."
    return asleep


def _free(agent: Agent, turn: Turn, granters: Granters) -> Allowed | None:
    """The turn's classes are all free by the agent's policy, or all by the channel's; None if they are not."""
    if turn.always_asks:
        return None
    policy, chooser = agent.channel_policy, granters.find(agent.free_chooser)
    if chooser and set(turn.risks) <= set(agent.policy_in_force.free) and may_approve(agent, turn, chooser):
        return Allowed(chooser, Approve(under="policy", granted_at=agent.free_at or agent.created_at))
    if not set(turn.risks) <= set(policy.classes("free")):
        return None
    choosers = [granters.find(policy.free_by[risk]) for risk in turn.risks if risk in policy.free_by]
    if len(choosers) < len(turn.risks) or not all(each and may_approve(agent, turn, each) for each in choosers):
        return None
    return Allowed(policy.free_by[turn.risks[0]], Approve(under="policy", granted_at=policy.free_at))
