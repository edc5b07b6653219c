"""What people are told, and given, for what they pressed or typed."""

from dataclasses import dataclass

from agent_core.service.agents import NoteKept
from agent_core.service.decision_log import LogRow


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that somebody asked for. `is_readable` says that people can read what it holds in place of it."""

    name: str
    data: bytes
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person is told; `kept` is the note their words became, `is_wanted` says that they asked to be told.

    `is_asked`: they asked a question, whose answer comes in the thread. `files` go with it. `log` holds the rows of the
    decision log that the text tells, for surfaces that link each row to its card.
    """

    text: str
    kept: NoteKept | None = None
    is_wanted: bool = False
    is_asked: bool = False
    files: tuple[Attachment, ...] = ()
    log: tuple[LogRow, ...] = ()

    @property
    def whole(self) -> str:
        """The text with what its files hold, for a surface that cannot hand them out."""
        held = [file.data.decode() for file in self.files if file.is_readable]
        return "\n\n".join((self.text, *(text for text in held if text not in ("", self.text))))
