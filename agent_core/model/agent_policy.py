"""An agent's policy: who may approve its commands, and which risk classes need no approval."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from agent_core.model.command import RISK_CLASSES, RiskClass

Approvers = Literal["anyone", "owner"]
Verbosity = Literal["full", "brief"]
CARDS_SHOW: dict[Verbosity, str] = {"full": "all thoughts", "brief": "the text, the rest behind Thoughts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`approvers`: who may approve; `anyone` is any full member. `free`: classes that run without asking."""

    approvers: Approvers = "anyone"
    free: tuple[RiskClass, ...] = ()
    verbosity: Verbosity = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """What a person changes of a policy; what is None or empty stays.

    `free`, `asked`: classes that from now on run without asking, and classes that ask.
    `confirmed`: free classes that the person was shown and left as they were.
    """

    approvers: Approvers | None = None
    free: tuple[RiskClass, ...] = ()
    asked: tuple[RiskClass, ...] = ()
    confirmed: tuple[RiskClass, ...] = ()
    verbosity: Verbosity | None = None

    @classmethod
    def between(cls, shown: Policy, wanted: Policy) -> Self:
        """What a person changed in a form that had shown a policy, whatever others changed meanwhile."""
        return cls(
            approvers=wanted.approvers if wanted.approvers != shown.approvers else None,
            free=tuple(risk for risk in wanted.free if risk not in shown.free),
            asked=tuple(risk for risk in shown.free if risk not in wanted.free),
            confirmed=tuple(risk for risk in shown.free if risk in wanted.free),
            verbosity=wanted.verbosity if wanted.verbosity != shown.verbosity else None,
        )

    def is_shown(self, risk: RiskClass) -> bool:
        """Whether the person named this free class or was shown it, and wants it free."""
        return risk in self.free or risk in self.confirmed

    def apply(self, policy: Policy) -> Policy:
        """The policy after the change."""
        free = {*policy.free, *self.free} - {*self.asked}
        return replace(
            policy,
            approvers=self.approvers or policy.approvers,
            free=tuple(risk for risk in RISK_CLASSES if risk in free),
            verbosity=self.verbosity or policy.verbosity,
        )
