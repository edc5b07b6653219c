"""A counted, visible, revocable permission to go on without asking."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from agent_core.model.command import RiskClass
from agent_core.model.people import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """`left` of `total` commands of these classes may run; it falls only when a command ran, well or not."""

    granted_by: Actor
    granted_at: datetime
    total: int
    left: int
    classes: tuple[RiskClass, ...]

    def covers(self, risks: tuple[RiskClass, ...]) -> bool:
        """Whether every class of a command is among those granted."""
        return set(risks) <= set(self.classes)

    def spend(self) -> Self | None:
        """The lease after one command ran, or None when that was the last."""
        return replace(self, left=self.left - 1) if self.left > 1 else None
