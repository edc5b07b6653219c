"""An agent's policy: who may approve its commands, and which risk classes need no approval."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.command import RiskClass

Approvers = Literal["anyone", "owner"]
Verbosity = Literal["full", "brief"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`approvers`: who may approve; `anyone` is any full member. `free`: classes that run without asking."""

    approvers: Approvers = "anyone"
    free: tuple[RiskClass, ...] = ()
    verbosity: Verbosity = "full"
