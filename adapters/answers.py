"""What people are told, and given, for what they pressed or typed."""

from dataclasses import dataclass

from agent_core.service.agents import Kept


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that somebody asked for."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person is told; `kept` is the note their words became, `is_wanted` says that they asked to be told.

    `is_asked`: they asked a question, whose answer comes in the thread. `file` goes with it: a surface that cannot hand
    out a file shows what it holds.
    """

    text: str
    kept: Kept | None = None
    is_wanted: bool = False
    is_asked: bool = False
    file: Attachment | None = None
