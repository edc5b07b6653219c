"""The result of one check of `signoff doctor`."""

from dataclasses import dataclass
from typing import Literal

State = Literal["on", "off", "fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The state of one surface or provider. `variable` is the setting that changes it, or empty if no setting does."""

    name: str
    state: State
    why: str
    variable: str = ""
