"""The decisions that people take on a proposal."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, assert_never

from agent_core.model.actors import Actor
from agent_core.model.command import Arguments

MIN_LEASE_COMMANDS, MAX_LEASE_COMMANDS = 2, 50


@dataclass(frozen=True, slots=True)
class Approve:
    """Run the command as shown. `times` above 1 grants a lease that counts this command as its first.

    `under` names the permission where no person was asked: a lease or the policy. `granted_at` is when a person granted
    it.
    """

    times: int = 1
    under: Literal["", "lease", "policy"] = ""
    granted_at: datetime | None = None
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
    """A decision, who took it, and when."""

    by: Actor
    at: datetime
    decision: Decision


Settlement = Literal["run again", "it ran", "skip"]


def detail_of(decision: Decision) -> str:
    """What the decision log says about a decision besides its kind."""
    match decision:
        case Approve(times):
            return f"×{times}" if times > 1 else ""
        case ApproveEdited(arguments):
            return json.dumps(arguments, ensure_ascii=False, default=str)
        case Reject(reason):
            return reason
    assert_never(decision)
