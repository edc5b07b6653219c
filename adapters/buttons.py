"""The text a button carries: a verb and the id of what it is about, so that buttons outlive restarts.

Nothing else is trusted to a button: who may press it and what it means now is looked up when it is pressed.
"""

from dataclasses import dataclass
from typing import Any, Literal, Self, cast, get_args

from agent_core.errors import InvalidInput

Verb = Literal[
    "approve", "edit", "reject", "reply", "stop", "resume", "revoke", "review", "run again", "it ran", "skip"
]
LABELS: dict[Verb, str] = {
    "approve": "Approve",
    "edit": "Edit",
    "reject": "Reject",
    "reply": "Reply",
    "stop": "Stop",
    "resume": "Resume",
    "revoke": "Revoke",
    "review": "Self-review",
    "run again": "Run again",
    "it ran": "It ran",
    "skip": "Skip",
}
# What only opens something, and is nothing that the service is asked to do.
OpeningVerb = Literal["show all", "thoughts", "another number", "new agent", "open"]
OPENING_LABELS: dict[OpeningVerb, str] = {
    "show all": "Show all",
    "thoughts": "Thoughts",
    "another number": "Another number…",
    "new agent": "New agent",
    "open": "Open",
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
        verb, subject, times = _parts(text, Verb)
        return cls(cast("Verb", verb), subject, times)


@dataclass(frozen=True, slots=True)
class Opening:
    """A button that shows more or opens a form; `part` tells which part of something long."""

    verb: OpeningVerb
    subject: str
    part: int = 1

    @property
    def label(self) -> str:
        """The words on the button."""
        return OPENING_LABELS[self.verb]

    def __str__(self) -> str:
        return f"{self.verb}:{self.subject}:{self.part}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, subject, part = _parts(text, OpeningVerb)
        return cls(cast("OpeningVerb", verb), subject, part)


def _parts(text: str, verbs: Any) -> tuple[str, str, int]:
    verb, _, rest = text.partition(":")
    subject, _, number = rest.rpartition(":")
    if verb not in get_args(verbs) or not subject or not (number.isascii() and number.isdigit()):
        raise InvalidInput({"button": "This button is not one of Signoff's."})
    return verb, subject, int(number[:6])
