"""The goal of twenty commands that a person decides on, and the counts of what that took."""

import random
import re
from dataclasses import dataclass

from agent_core.model.model_calls import Reply
from agent_core.testing.language_model import ScriptedModel, reply_text

COMMANDS, AT_ONCE = 20, 5
LINES, WORDS_IN_LINE = 9, 12
SYLLABLES = ("ba", "den", "fi", "gor", "ha", "ker", "lo", "mi", "nu", "par", "que", "ri", "sol", "ta", "ven", "zu")


@dataclass(slots=True)
class Costs:
    """What the decisions took in all. `messages`: posted in the thread, without the root message."""

    commands: int = COMMANDS
    decisions: int = 0
    clicks: int = 0
    scrolls: int = 0
    loads: int = 0
    words: int = 0
    messages: int = 0
    notifications: int = 0


def scripted() -> ScriptedModel:
    """A model that writes one file after another, and says why. Summaries take some of its replies."""
    return ScriptedModel(*map(write_note, range(2 * COMMANDS)))


def count_words(text: str) -> int:
    """The words that a person reads: what has a letter or a digit."""
    return len(re.findall(r"\S*\w\S*", text))


def write_note(number: int) -> str | Reply:
    chance = random.Random(number)
    subject = _words(chance, 1)
    lines = "\n".join(f"- {_words(chance, WORDS_IN_LINE)}" for _ in range(LINES))
    given = {"filename": f"notes/{subject}.md", "text": f"# {subject}\n\n{lines}\n"}
    return reply_text("write_to_file", given, text=f"I write down {_words(chance, WORDS_IN_LINE)}.")


def _words(chance: random.Random, count: int) -> str:
    """Words that no other turn has, so that the agent is not seen to repeat itself."""
    return " ".join("".join(chance.choices(SYLLABLES, k=4)) for _ in range(count))
