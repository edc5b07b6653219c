"""The tables of oversight.md: what `evaluate` says of every class, need, lease and person."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from agent_core.model.agent import Agent
from agent_core.model.channel_policy import ANYONE, NO_POLICY, OWNER, Approver, ChannelPolicy
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import Approval, Approve, Policy
from agent_core.model.origin import Actor
from agent_core.model.permissions import Effect, Lease, StandingRule
from agent_core.model.turn import Turn
from agent_core.oversight.evaluation import Allowed, Asks, Denied, Granters, Verdict, evaluate
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent

OVERSIGHT_PAGE = Path(__file__).parent / "oversight.md"
INTRODUCTION = """# Who decides what

What `evaluate` (`agent_core/oversight/evaluation.py`) says, case by case. A test compares every case with a second
implementation, and this page with the code. The order: what the operator says → what never runs → untrusted content →
two people → rules → free classes → Approve ×N → one person. The first that applies decides; what nobody mentioned asks
one person.
"""
NEEDS = {
    "nothing is said": (Policy(), {}),
    "free by the agent's policy": (Policy(free=RISK_CLASSES), {}),
    "free by the channel's policy": (Policy(), dict.fromkeys(RISK_CLASSES, "free")),
    "free by the agent's, one person by the channel's": (Policy(free=RISK_CLASSES), dict.fromkeys(RISK_CLASSES, "one")),
    "two people by the agent's policy": (Policy(two=RISK_CLASSES), {}),
    "two people by the channel's, free by the agent's": (
        Policy(free=RISK_CLASSES),
        dict.fromkeys(RISK_CLASSES, "two"),
    ),
    "never by the channel's, free by the agent's": (Policy(free=RISK_CLASSES), dict.fromkeys(RISK_CLASSES, "never")),
    "a rule allows it": (Policy(), {}),
    "a rule denies it, free by the agent's policy": (Policy(free=RISK_CLASSES), {}),
}
LEASES = {
    "none": None,
    "all classes": Lease(granted_by=BEN, granted_at=NOON, total=5, left=4, classes=RISK_CLASSES),
    "paused": Lease(granted_by=BEN, granted_at=NOON, total=5, left=4, classes=RISK_CLASSES, paused_by=ANA),
}
CEILINGS = {"nothing": {}, "always ask": {"always_asks": True}, "two people": {"needs_two": True}}
EVERYBODY = Granters(people=(ANA,), granter=BEN)
GROUP = Approver("S1", "@leads")
PEOPLE: dict[str, Actor] = {
    "a member": BEN,
    "a member of the group": replace(BEN, groups=("S1",)),
    "who made the agent": ANA,
    "a guest in the group": replace(BEN, kind="guest", groups=("S1",)),
    "a person of another organisation": replace(BEN, kind="external"),
    "a bot": replace(BEN, kind="bot"),
}
APPROVERS: dict[str, ChannelPolicy] = {
    "any full member": NO_POLICY,
    "who made the agent": ChannelPolicy(approvers=(Approver(OWNER),)),
    "@leads": ChannelPolicy(approvers=(GROUP,)),
    "any full member, makers not their own": ChannelPolicy(approvers=(Approver(ANYONE),), makers_approve=False),
}


def unattended(need: str, lease: str, ceiling: str, risk: RiskClass, *, exposed: bool) -> tuple[Agent, Turn, Granters]:
    """A case without a person: the agent, its proposal, and whose permission it may use."""
    own, needs = NEEDS[need]
    channel = ChannelPolicy(needs=needs, free_by=dict.fromkeys(RISK_CLASSES, ANA), free_at=NOON)  # type: ignore[arg-type]
    effect: Effect = "allow" if need == "a rule allows it" else "never"
    rule = StandingRule(
        id="r", effect=effect, command="write_file", by=ANA, at=NOON, risks=RISK_CLASSES, others=("path", "text")
    )
    agent = an_agent(policy=own, read_policy=channel, lease=LEASES[lease], exposed=exposed, free_at=NOON)
    agent = replace(agent, read_rules=(rule,) if "rule" in need else ())
    return agent, a_turn(agent, risks=(risk,), **CEILINGS[ceiling]), EVERYBODY


def approved(who: str, approvers: str, risk: RiskClass, *, two: bool, first: bool) -> tuple[Agent, Turn, Actor]:
    """A case in which a person approves, as the second one if somebody was the first."""
    agent = an_agent(read_policy=APPROVERS[approvers], policy=Policy(two=(risk,) if two else ()))
    turn = a_turn(agent, risks=(risk,), needs_two=two)
    before = replace(ANA, id="u-first", groups=("S1",))
    return agent, replace(turn, approvals=(Approval(before, NOON, Approve()),) if first else ()), PEOPLE[who]


def oversight_page() -> str:
    """The whole page."""
    return "\n".join((INTRODUCTION, *_without_people(), "", *_with_people(), ""))


def _without_people() -> Iterator[str]:
    yield "## Before anybody is asked\n"
    yield f"| class says | Approve ×N | operator | outside content | {' | '.join(RISK_CLASSES)} |"
    yield "|---" * (4 + len(RISK_CLASSES)) + "|"
    for need, lease, ceiling, exposed in product(NEEDS, ("none", "all classes"), CEILINGS, (False, True)):
        verdicts = [_evaluated(need, lease, ceiling, risk, exposed=exposed) for risk in RISK_CLASSES]
        cells = " | ".join(_said(verdict) for verdict in verdicts)
        yield f"| {need} | {lease} | {ceiling} | {'read' if exposed else ''} | {cells} |"


def _with_people() -> Iterator[str]:
    yield "## When a person presses Approve\n"
    yield f"| person | who may approve | people wanted | {' | '.join(RISK_CLASSES)} |"
    yield "|---" * (3 + len(RISK_CLASSES)) + "|"
    for who, approvers, (two, first) in product(PEOPLE, APPROVERS, ((False, False), (True, False), (True, True))):
        cases = [approved(who, approvers, risk, two=two, first=first) for risk in RISK_CLASSES]
        cells = " | ".join(_said(evaluate(agent, turn, NOON, person=person)) for agent, turn, person in cases)
        yield f"| {who} | {approvers} | {'two, one did' if first else 'two' if two else 'one'} | {cells} |"


def _evaluated(need: str, lease: str, ceiling: str, risk: RiskClass, *, exposed: bool) -> Verdict:
    agent, turn, granters = unattended(need, lease, ceiling, risk, exposed=exposed)
    return evaluate(agent, turn, NOON, granters)


def _said(verdict: Verdict) -> str:
    match verdict:
        case Allowed(_, Approve(under="lease")):
            return "runs (×N)"
        case Allowed(_, Approve(under="rule")):
            return "runs (rule)"
        case Allowed():
            return "runs"
        case Asks(people):
            return "asks two" if people > 1 else "asks"
        case Denied():
            return "no"
