"""What people agreed about an agent: who may approve, and what needs no asking."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.command import RiskClass

Approvers = Literal["anyone", "owner"]
Verbosity = Literal["full", "brief"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`free` classes run unasked; `anyone` is any full member of the channel."""

    approvers: Approvers = "anyone"
    free: tuple[RiskClass, ...] = ()
    verbosity: Verbosity = "full"
