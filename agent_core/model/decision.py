"""What people may answer to a proposal."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from agent_core.model.command import Arguments
from agent_core.model.people import Actor

FEWEST_TIMES, MOST_TIMES = 2, 50


@dataclass(frozen=True, slots=True)
class Approve:
    """Run it as shown. `times` above 1 grants a lease of which this command is the first."""

    times: int = 1
    leased: bool = False
    kind: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True)
class ApproveEdited:
    """Run it with these arguments instead."""

    arguments: Arguments
    kind: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not run it; the reason becomes the agent's result."""

    reason: str = ""
    kind: Literal["reject"] = "reject"


Decision: TypeAlias = Approve | ApproveEdited | Reject


@dataclass(frozen=True, slots=True)
class Approval:
    """A decision with who took it and when."""

    by: Actor
    at: datetime
    decision: Decision


Settlement = Literal["run again", "it ran", "skip"]
