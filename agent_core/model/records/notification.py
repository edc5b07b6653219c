"""The record of one notification that was sent about a wait of an agent, with what it takes to take it back."""

from dataclasses import dataclass
from datetime import datetime

from agent_core.model.ids import TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message that was sent about one wait of an agent, and that is taken back when the wait ends.

    `since`: when the wait began. `turn`: the turn that waits, or None while the agent is paused.
    `to`: the person who got it as a direct message, or "" for a reminder in the agent's thread.
    `address`: where the surface posted it, or "" if it could not be delivered and is not tried again.
    `is_planned`: it is about to be sent. If the process dies meanwhile it may stand, and the surface looks for it.
    `reminded`: how many reminders of the wait were no longer due when it was sent.
    """

    since: datetime
    turn: TurnId | None = None
    to: str = ""
    address: str = ""
    is_planned: bool = False
    reminded: int = 0
