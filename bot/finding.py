"""What was found when the doctor looked at one thing."""

from dataclasses import dataclass
from typing import Literal

State = Literal["on", "off", "fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One surface or provider. `variable` names what changes it, and is empty where nothing does yet."""

    name: str
    state: State
    why: str
    variable: str = ""
