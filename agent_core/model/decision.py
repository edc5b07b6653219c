"""What people may answer to a proposal."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, assert_never

from agent_core.model.actors import Actor
from agent_core.model.command import Arguments

FEWEST_TIMES, MOST_TIMES = 2, 50


@dataclass(frozen=True, slots=True)
class Approve:
    """Run it as shown. `times` above 1 grants a lease of which this command is the first.

    `under` says what approved it where nobody was asked: a lease, or the policy. `granted_at` says when a person
    granted that.
    """

    times: int = 1
    under: Literal["", "lease", "policy"] = ""
    granted_at: datetime | None = None
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


def detail_of(decision: Decision) -> str:
    """What a decision says besides its kind."""
    match decision:
        case Approve(times):
            return f"×{times}" if times > 1 else ""
        case ApproveEdited(arguments):
            return json.dumps(arguments, ensure_ascii=False, default=str)
        case Reject(reason):
            return reason
    assert_never(decision)
