"""The answer to a person's click or line: its text, its buttons and its files."""

from dataclasses import dataclass

from adapters.screens.buttons import Button
from agent_core.service.agents import NoteKept
from agent_core.service.reading.decision_log import LogRow


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to send to people. `is_readable`: whether `Answer.whole` shows its content as text."""

    name: str
    data: bytes
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer. `text` is shown to the person; `kept` is set if their reply was stored as a note.

    `is_wanted`: the person asked for information, so the text must be shown.
    `is_asked`: the person asked the model a question; the answer comes in the thread.
    `buttons`: what the person can do about it now, shown below the text.
    `log`: the rows of the decision log in `text`, for surfaces that link each row to its card.
    """

    text: str
    kept: NoteKept | None = None
    is_wanted: bool = False
    is_asked: bool = False
    buttons: tuple[Button, ...] = ()
    files: tuple[Attachment, ...] = ()
    log: tuple[LogRow, ...] = ()

    @property
    def whole(self) -> str:
        """The text followed by the contents of the readable files, for a surface that cannot send files."""
        held = [file.data.decode() for file in self.files if file.is_readable]
        return "\n\n".join((self.text, *(text for text in held if text not in ("", self.text))))
