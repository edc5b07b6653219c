"""The lease: a counted, visible, revocable permission to run commands without asking."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from agent_core.model.actors import Actor
from agent_core.model.command import GUARDED_CLASSES, RISK_CLASSES, RiskClass
from agent_core.model.copies import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """`left` of `total` commands of these classes may run. Each command counts, whether it succeeds or fails."""

    granted_by: Actor
    granted_at: datetime
    total: int
    left: int
    classes: tuple[RiskClass, ...]

    def covers(self, risks: tuple[RiskClass, ...]) -> bool:
        return set(risks) <= set(self.classes)

    def without_guarded(self) -> Self:
        """The lease without execute and publish."""
        return replace(self, classes=tuple(risk for risk in self.classes if risk not in GUARDED_CLASSES))

    def spend(self) -> Self | None:
        """The lease after one command ran, or None after the last."""
        return replace(self, left=self.left - 1) if self.left > 1 else None


def covered_classes(risks: Sequence[RiskClass]) -> tuple[RiskClass, ...]:
    """The classes that Approve ×N covers: execute and publish only if the approved command has them, and all others."""
    return tuple(risk for risk in RISK_CLASSES if risk not in GUARDED_CLASSES or risk in risks)
