"""`evaluate` in every case of the reference page, against the order of the rules written down a second time."""

from dataclasses import replace
from itertools import product

import pytest

from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import Approval, Approve
from agent_core.oversight.evaluation import Allowed, Asks, Denied, Verdict, evaluate, why_not_allowed_now
from agent_core.testing.examples import BEN, NOON
from docs.reference.oversight_page import APPROVERS, CEILINGS, LEASES, NEEDS, PEOPLE, approved, unattended


def expected(need: str, lease: str, ceiling: str, risk: RiskClass, *, exposed: bool) -> str:
    """What holds, by the words of the page alone."""
    if need.startswith("never") or "rule denies" in need:
        return "denied"
    two = need.startswith("two") or ceiling == "two people"
    is_guarded = exposed and risk in ("execute", "publish")
    if two:
        return "2"
    if ceiling == "always ask" or is_guarded:
        return "1"
    if need == "a rule allows it":
        return "rule"
    if need.startswith("free") and "one person" not in need:
        return "policy"
    return "lease" if lease == "all classes" else "1"


def told(verdict: Verdict) -> str:
    match verdict:
        case Allowed(_, Approve(under=under)):
            return under or "person"
        case Asks(people):
            return str(people)
        case Denied():
            return "denied"


@pytest.mark.proves("oversight:table")
def test_every_case_without_a_person() -> None:
    for need, lease, ceiling, risk, exposed in product(NEEDS, LEASES, CEILINGS, RISK_CLASSES, (False, True)):
        case = (need, lease, ceiling, risk)
        agent, turn, granters = unattended(*case, exposed=exposed)
        verdict = evaluate(agent, turn, NOON, granters)
        assert told(verdict) == expected(*case, exposed=exposed), (case, exposed)


def may(who: str, approvers: str, risk: RiskClass) -> bool:
    """Whether this person may approve, by the words of the page alone."""
    if who in ("a guest in the group", "a person of another organisation", "a bot"):
        return False
    if approvers == "who made the agent":
        return who == "who made the agent"
    if approvers == "@leads":
        return who == "a member of the group"
    return not (approvers.endswith("not their own") and who == "who made the agent" and risk in ("execute", "publish"))


@pytest.mark.proves("oversight:table")
def test_every_person() -> None:
    for who, approvers, risk, two in product(PEOPLE, APPROVERS, RISK_CLASSES, (False, True)):
        for first in (False, True) if two else (False,):
            agent, turn, person = approved(who, approvers, risk, two=two, first=first)
            verdict = told(evaluate(agent, turn, NOON, person=person))
            is_first_valid = first and approvers != "who made the agent"
            alone = "person" if not two or is_first_valid else "2"
            assert verdict == (alone if may(who, approvers, risk) else "denied"), (who, approvers, risk, two, first)


@pytest.mark.parametrize("risk", RISK_CLASSES)
def test_what_was_allowed_is_still_allowed_at_the_start_and_nothing_else_is(risk: RiskClass) -> None:
    for need, lease, ceiling, exposed in product(NEEDS, LEASES, CEILINGS, (False, True)):
        agent, turn, granters = unattended(need, lease, ceiling, risk, exposed=exposed)
        verdict = evaluate(agent, turn, NOON, granters)
        if isinstance(verdict, Allowed):
            started = turn.decide(verdict.decision, by=verdict.by, at=NOON)
            assert why_not_allowed_now(agent, started, NOON) == ""
        for under in ("lease", "policy", "rule"):
            if isinstance(verdict, Allowed):
                continue
            decision = Approve(under=under, granted_at=NOON)
            smuggled = replace(turn, state="approved", approvals=(Approval(BEN, NOON, decision),))
            if under != "lease" or not need.startswith(("free", "a rule allows")):
                assert why_not_allowed_now(agent, smuggled, NOON), (need, lease, ceiling, exposed, under)
