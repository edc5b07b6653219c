"""The text a button carries: a verb and the id of what it is about, so that buttons outlive restarts.

Nothing else is trusted to a button: who may press it and what it means now is looked up when it is pressed.
"""

from dataclasses import dataclass
from typing import Literal, Self, cast, get_args

from agent_core.errors import InvalidInput

Verb = Literal["approve", "edit", "reject", "reply", "stop", "resume", "revoke", "run again", "it ran", "skip"]
LABELS: dict[Verb, str] = {
    "approve": "Approve",
    "edit": "Edit",
    "reject": "Reject",
    "reply": "Reply",
    "stop": "Stop",
    "resume": "Resume",
    "revoke": "Revoke",
    "run again": "Run again",
    "it ran": "It ran",
    "skip": "Skip",
}


@dataclass(frozen=True, slots=True)
class Button:
    """`subject` is a turn's id, or an agent's for stop, resume, revoke and reply."""

    verb: Verb
    subject: str
    times: int = 1

    @property
    def label(self) -> str:
        """The words on the button."""
        return f"{LABELS[self.verb]} ×{self.times}" if self.times > 1 else LABELS[self.verb]

    def __str__(self) -> str:
        return f"{self.verb}:{self.subject}:{self.times}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, _, rest = text.partition(":")
        subject, _, times = rest.rpartition(":")
        if verb not in get_args(Verb) or not subject or not (times.isascii() and times.isdigit()):
            raise InvalidInput({"button": "This button is not one of Signoff's."})
        return cls(cast("Verb", verb), subject, int(times[:6]))
