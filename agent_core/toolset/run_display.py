"""What a running command may show people: three functions for output, sentences in the thread, and questions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.model.question import AskedQuestion

ShowText: TypeAlias = Callable[[str], None]
ShowQuestion: TypeAlias = Callable[[AskedQuestion], None]


def show_nothing(_shown: object) -> None:
    """Discard it: nobody looks on."""


def goes_on() -> bool:
    """Return False: the process does not end."""
    return False


@dataclass(frozen=True, slots=True)
class RunDisplay:
    """`report` replaces the output so far, `announce` posts a sentence, `ask` shows a question or its answer.

    `is_ending`: whether the process ends, so that nobody can be waited for any more.
    """

    report: ShowText = show_nothing
    announce: ShowText = show_nothing
    ask: ShowQuestion = show_nothing
    is_ending: Callable[[], bool] = goes_on


UNSEEN = RunDisplay()
