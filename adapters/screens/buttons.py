"""Buttons as values: a verb, the id of a turn, agent or notice, a number, and the hash of what the card showed.

This is why buttons work after a restart, and why a button of an old card cannot approve what that card did not show.
Rights and the present state are looked up when a button is pressed.
"""

import re
from dataclasses import astuple, dataclass
from typing import ClassVar, Literal, Self, get_args

from agent_core.errors import InvalidInput
from agent_core.model.command import DIGEST_HEX_DIGITS

Verb = Literal[
    "approve",
    "edit",
    "reject",
    "undo",
    "reply",
    "stop",
    "resume",
    "revoke",
    "review",
    "fork",
    "for real",
    "run again",
    "it ran",
    "skip",
    "answer",
    "decline",
]
# The page has labels of its own, in adapters/web/templates.
LABELS: dict[Verb, str] = {
    "approve": "Approve",
    "edit": "Edit",
    "reject": "Reject",
    "undo": "Undo",
    "reply": "Reply",
    "stop": "Stop",
    "resume": "Resume",
    "revoke": "Revoke",
    "review": "Self-review",
    "fork": "Fork",
    "for real": "Run for real",
    "run again": "Run again",
    "it ran": "It ran",
    "skip": "Skip",
    "answer": "Answer",
    "decline": "Decline",
}
VALUE_PATTERN = re.compile(
    rf"(?P<verb>[^:]+):(?P<subject>.+?):(?P<number>[0-9]+)(?::(?P<shown>[0-9a-f]{{{DIGEST_HEX_DIGITS}}}))?", re.DOTALL
)
# These buttons only open a view or a form; they change nothing.
ViewVerb = Literal["show all", "show reply", "thoughts", "another number", "always allow", "new agent", "open"]
VIEW_LABELS: dict[ViewVerb, str] = {
    "show all": "Show all",
    "show reply": "Show reply",
    "thoughts": "Thoughts",
    "another number": "Another number…",
    "always allow": "Always allow…",
    "new agent": "New agent",
    "open": "Open",
}


class ButtonValue:
    """Base of `Button` and `ViewButton`: `str` joins the four fields with colons, and `parse` reads them again."""

    __slots__ = ()
    verbs: ClassVar[tuple[str, ...]]

    def __str__(self) -> str:
        verb, subject, number, shown = astuple(self)  # type: ignore[call-overload]  # both are dataclasses
        return ":".join((verb, subject, str(number), *((shown,) if shown else ())))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what `str` returns; raise InvalidInput for anything else."""
        found = VALUE_PATTERN.fullmatch(text)
        if found is None or found["verb"] not in cls.verbs:
            raise foreign_button_error()
        fields = found["verb"], found["subject"], int(found["number"][:6]), found["shown"] or ""
        return cls(*fields)  # type: ignore[call-arg]


def foreign_button_error() -> InvalidInput:
    """The error for a button that Signoff did not make."""
    return InvalidInput({"button": "This button is not one of Signoff's."})


@dataclass(frozen=True, slots=True)
class Button(ButtonValue):
    """A button that acts. `subject`: a turn's id, or an agent's id for stop, resume, revoke and reply.

    `times`: the N of Approve ×N. `shown`: the `control_hash` of the turn that the button decides on; for a reply, the
    hash of the open proposal, or ""; for an answer to a tool server, the id of its question.
    """

    verb: Verb
    subject: str
    times: int = 1
    shown: str = ""
    verbs = get_args(Verb)

    @property
    def label(self) -> str:
        return f"{LABELS[self.verb]} ×{self.times}" if self.times > 1 else LABELS[self.verb]


@dataclass(frozen=True, slots=True)
class ViewButton(ButtonValue):
    """A button that shows more or opens a form. `part`: the page number of a long text, from 1.

    A form of part 2 opens as it was filled in before it was refused.

    `shown`: if the form decides on a turn, the hash as in `Button`; otherwise "".
    """

    verb: ViewVerb
    subject: str
    part: int = 1
    shown: str = ""
    verbs = get_args(ViewVerb)

    @property
    def label(self) -> str:
        return VIEW_LABELS[self.verb]
