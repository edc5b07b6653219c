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

    `under`: what allowed the command without asking a person, "lease" or "policy"; "" if a person approved.
    `granted_at`: when that permission was given.
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
    """A decision, the person who took it, and its time."""

    by: Actor
    at: datetime
    decision: Decision


Settlement = Literal["run again", "it ran", "skip"]


def detail_of(decision: Decision) -> str:
    """The detail of a decision for the decision log, such as the reason of a rejection."""
    match decision:
        case Approve(times):
            return f"×{times}" if times > 1 else ""
        case ApproveEdited(arguments):
            return json.dumps(arguments, ensure_ascii=False, default=str)
        case Reject(reason):
            return reason
    assert_never(decision)
