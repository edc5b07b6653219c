"""The record of a lease: how many commands of which classes run without asking. `oversight/lease.py` has the rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from agent_core.model.command import GUARDED_CLASSES, RISK_CLASSES, RiskClass
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn

QUIETER: dict[RiskClass, tuple[RiskClass, ...]] = {"network": ("read", "write"), "read": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """`left` of `total` commands of these classes may run. Each command counts, whether it succeeds or fails.

    `source`: the plugin or server whose commands it covers besides Signoff's own; "" for none.
    `is_unattended`: granted where nobody is asked (`--continuous`), so it covers every source and the end of the work.
    `paused_by`: who wrote a note since; the next command then asks people.
    """

    granted_by: Actor
    granted_at: datetime
    total: int
    left: int
    classes: tuple[RiskClass, ...]
    source: str = ""
    is_unattended: bool = False
    paused_by: Actor | None = None

    def covers(self, turn: Turn) -> bool:
        """Whether it covers the turn's classes and source. Only an unattended one covers the end of the work."""
        if not set(turn.risks) <= set(self.classes) or turn.always_asks:
            return False
        return self.is_unattended or (turn.source_name in ("", self.source) and not turn.finishes)

    def without_guarded(self) -> Self:
        """The lease without execute and publish."""
        return replace(self, classes=tuple(risk for risk in self.classes if risk not in GUARDED_CLASSES))

    def spend(self) -> Self | None:
        """The lease after one command ran, or None after the last."""
        return replace(self, left=self.left - 1) if self.left > 1 else None


def covered_classes(risks: Sequence[RiskClass]) -> tuple[RiskClass, ...]:
    """The classes that Approve ×N covers: those of the approved command and the quieter ones.

    `read` is quieter than `write`, and both are quieter than all others; none of the others covers another one.
    """
    covered = {*risks, "read", *(quiet for risk in risks for quiet in QUIETER.get(risk, ("read", "write")))}
    return tuple(risk for risk in RISK_CLASSES if risk in covered)
