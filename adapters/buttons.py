"""The text a button carries: a verb, the id of what it is about, and the hash of what was shown with it.

So buttons outlive restarts, and one from an old card approves nothing that its presser did not see. Nothing else is
trusted to a button: who may press it and what it means now is looked up when it is pressed.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, Self, cast, get_args

from agent_core.errors import InvalidInput
from agent_core.model.command import DIGEST_HEX_DIGITS

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
CARRIED = re.compile(
    rf"(?P<verb>[^:]+):(?P<subject>.+?):(?P<number>[0-9]+)(?::(?P<shown>[0-9a-f]{{{DIGEST_HEX_DIGITS}}}))?", re.DOTALL
)
# What only opens something, and is nothing that the service is asked to do.
ViewVerb = Literal["show all", "show reply", "thoughts", "another number", "new agent", "open"]
VIEW_LABELS: dict[ViewVerb, str] = {
    "show all": "Show all",
    "show reply": "Show reply",
    "thoughts": "Thoughts",
    "another number": "Another number…",
    "new agent": "New agent",
    "open": "Open",
}


@dataclass(frozen=True, slots=True)
class Button:
    """`subject` is a turn's id, or an agent's for stop, resume, revoke and reply.

    `shown` is the turn's `control_hash` on every button that decides, and of the open proposal on a reply.
    """

    verb: Verb
    subject: str
    times: int = 1
    shown: str = ""

    @property
    def label(self) -> str:
        """The words on the button."""
        return f"{LABELS[self.verb]} ×{self.times}" if self.times > 1 else LABELS[self.verb]

    def __str__(self) -> str:
        return _text(self.verb, self.subject, self.times, self.shown)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, subject, times, shown = _parts(text, Verb)
        return cls(cast("Verb", verb), subject, times, shown)


@dataclass(frozen=True, slots=True)
class ViewButton:
    """A button that shows more or opens a form; `part` tells which part of something long.

    `shown` as in `Button`, where the form decides.
    """

    verb: ViewVerb
    subject: str
    part: int = 1
    shown: str = ""

    @property
    def label(self) -> str:
        """The words on the button."""
        return VIEW_LABELS[self.verb]

    def __str__(self) -> str:
        return _text(self.verb, self.subject, self.part, self.shown)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read back what `str` gave; raise InvalidInput for anything else."""
        verb, subject, part, shown = _parts(text, ViewVerb)
        return cls(cast("ViewVerb", verb), subject, part, shown)


def _text(verb: str, subject: str, number: int, shown: str) -> str:
    return ":".join((verb, subject, str(number), *((shown,) if shown else ())))


def _parts(text: str, verbs: Any) -> tuple[str, str, int, str]:
    found = CARRIED.fullmatch(text)
    if found is None or found["verb"] not in get_args(verbs):
        raise InvalidInput({"button": "This button is not one of Signoff's."})
    return found["verb"], found["subject"], int(found["number"][:6]), found["shown"] or ""
