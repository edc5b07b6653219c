"""What a running command shows people: its output so far, sentences in the thread, and what a tool server asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.model.server_question import AskedQuestion

ShowText: TypeAlias = Callable[[str], None]
ShowQuestion: TypeAlias = Callable[[AskedQuestion], None]


def show_nothing(_shown: object) -> None:
    """Discard it: nobody looks on."""


@dataclass(frozen=True, slots=True)
class RunDisplay:
    """`report` replaces the output so far, `announce` posts a sentence, `ask` shows a question or its answer."""

    report: ShowText = show_nothing
    announce: ShowText = show_nothing
    ask: ShowQuestion = show_nothing


UNSEEN = RunDisplay()
