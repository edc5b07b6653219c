"""The decisions that people take on a proposal; an agent's policy (approvers, free classes) and its changes."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal, Self, TypeAlias, assert_never

from agent_core.model.command import RISK_CLASSES, Arguments, RiskClass
from agent_core.model.origin import Actor

MIN_LEASE_COMMANDS, MAX_LEASE_COMMANDS = 2, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLimits:
    """What ends a lease besides its number: a time, an amount in US dollars that the agent spends under it.

    `only`: the classes that it covers, of those that it would; empty for all of them.
    """

    until: datetime | None = None
    dollars: Decimal | None = None
    only: tuple[RiskClass, ...] = ()

    def __str__(self) -> str:
        parts = (
            f"until {self.until:%d %b %H:%M} UTC" if self.until else "",
            f"for ${self.dollars:,.2f}" if self.dollars is not None else "",
            f"only {', '.join(self.only)}" if self.only else "",
        )
        return " · ".join(filter(None, parts))


NO_LIMITS = LeaseLimits()


@dataclass(frozen=True, slots=True)
class Approve:
    """Run the command as shown. `times` above 1 grants a lease that counts this command as its first.

    `limits`: of that lease.

    `under`: what allowed the command without asking a person; "" if a person approved.
    `granted_at`: when that permission was given. `rule`: the standing rule in words; `rule_id`: its id.
    """

    times: int = 1
    under: Literal["", "lease", "policy", "rule"] = ""
    granted_at: datetime | None = None
    rule: str = ""
    rule_id: str = ""
    limits: LeaseLimits = NO_LIMITS
    kind: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True)
class ApproveEdited:
    """Run the command with these arguments instead."""

    arguments: Arguments
    kind: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not run the command; the reason becomes the agent's result."""

    reason: str = ""
    kind: Literal["reject"] = "reject"


Decision: TypeAlias = Approve | ApproveEdited | Reject


@dataclass(frozen=True, slots=True)
class Approval:
    """A decision, the person who took it, and its time."""

    by: Actor
    at: datetime
    decision: Decision


Settlement = Literal["run again", "it ran", "skip"]


def detail_of(decision: Decision) -> str:
    """The detail of a decision for the decision log, such as the reason of a rejection."""
    match decision:
        case Approve(times, limits=limits):
            return " ".join(filter(None, (f"×{times}", str(limits)))) if times > 1 else ""
        case ApproveEdited(arguments):
            return json.dumps(arguments, ensure_ascii=False, default=str)
        case Reject(reason):
            return reason
    assert_never(decision)


Approvers = Literal["anyone", "owner"]
Verbosity = Literal["full", "brief"]
CARDS_SHOW: dict[Verbosity, str] = {"full": "all thoughts", "brief": "the text, the rest behind Thoughts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`approvers`: who may approve; `anyone` is any full member. `free`: classes that run without asking.

    `two`: classes of which two people approve each command; none of them is free.
    """

    approvers: Approvers = "anyone"
    free: tuple[RiskClass, ...] = ()
    two: tuple[RiskClass, ...] = ()
    verbosity: Verbosity = "brief"


def two_problem(policy: Policy) -> str:
    """What is wrong with the classes that two people approve. Return "" if nothing is."""
    if both := [risk for risk in policy.two if risk in policy.free]:
        return f"{', '.join(both)} cannot both run without asking and need two people."
    if policy.two and policy.approvers == "owner":
        return f"Two people approve {', '.join(policy.two)}, so more than one person must be allowed to approve."
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """What a person changes of a policy; what is None or empty stays.

    `free`, `asked`: classes that from now on run without asking, and classes that ask.
    `two`, `one`: classes that from now on two people approve, and classes that one person approves.
    `confirmed`: free classes that the person was shown and left as they were.
    """

    approvers: Approvers | None = None
    free: tuple[RiskClass, ...] = ()
    asked: tuple[RiskClass, ...] = ()
    confirmed: tuple[RiskClass, ...] = ()
    two: tuple[RiskClass, ...] = ()
    one: tuple[RiskClass, ...] = ()
    verbosity: Verbosity | None = None

    @classmethod
    def between(cls, shown: Policy, wanted: Policy) -> Self:
        """What a person changed in a form that had shown a policy, whatever others changed meanwhile."""
        return cls(
            approvers=wanted.approvers if wanted.approvers != shown.approvers else None,
            free=tuple(risk for risk in wanted.free if risk not in shown.free),
            asked=tuple(risk for risk in shown.free if risk not in wanted.free),
            confirmed=tuple(risk for risk in shown.free if risk in wanted.free),
            two=tuple(risk for risk in wanted.two if risk not in shown.two),
            one=tuple(risk for risk in shown.two if risk not in wanted.two),
            verbosity=wanted.verbosity if wanted.verbosity != shown.verbosity else None,
        )

    def is_shown(self, risk: RiskClass) -> bool:
        """Whether the person named this free class or was shown it, and wants it free."""
        return risk in self.free or risk in self.confirmed

    def apply(self, policy: Policy) -> Policy:
        """The policy after the change. A class that two people approve is not free, even if both were asked for."""
        two = {*policy.two, *self.two} - {*self.one}
        free = {*policy.free, *self.free} - {*self.asked} - two
        return replace(
            policy,
            approvers=self.approvers or policy.approvers,
            free=tuple(risk for risk in RISK_CLASSES if risk in free),
            two=tuple(risk for risk in RISK_CLASSES if risk in two),
            verbosity=self.verbosity or policy.verbosity,
        )
