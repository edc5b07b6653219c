"""Parses a line typed at the terminal's prompt: a key, a number of commands, a word that is unclear, or a text."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapters.typed.command_lines import is_thread_command
from agent_core.errors import InvalidInput
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS, Settlement
from agent_core.text.reply_meaning import is_agreement, is_question

Key: TypeAlias = Literal["reject", "edit", "review", "view", "stop", "help"]
SETTLEMENTS: dict[str, Settlement] = {"r": "run again", "i": "it ran", "s": "skip"}


@dataclass(frozen=True, slots=True)
class ApproveKey:
    """Approve this command and the next ones, `times` commands in all."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class UnclearWord:
    """A single short word that is none of the possible answers, or words that agree: they decide nothing."""

    word: str


@dataclass(frozen=True, slots=True)
class FreeText:
    """Text for the agent: a reply, a question, or a command that begins with `!`."""

    text: str

    @property
    def is_verb(self) -> bool:
        """Whether the text is a command such as `!status` or `@Ben !approve`."""
        return re.match(r"(@.*\s)?!\w", self.text) is not None


Answer: TypeAlias = ApproveKey | Key | UnclearWord | FreeText
APPROVE = ApproveKey()
KEYS: dict[str, Answer] = {
    "y": APPROVE,
    "yes": APPROVE,
    "e": "edit",
    "s": "review",
    "v": "view",
    "n": "reject",
    "no": "reject",
    "x": "stop",
    "?": "help",
}
MAX_WORD_CHARACTERS = 15


def parse_answer(line: str) -> Answer:
    """Parse the answer to a proposal; raise InvalidInput for a number out of range."""
    said = line.strip()
    if more := re.fullmatch(r"y(?:es)?(?:\s*-\s*|\s+)([0-9]{1,9})", said, re.IGNORECASE):
        if MIN_LEASE_COMMANDS <= (times := int(more[1])) <= MAX_LEASE_COMMANDS:
            return ApproveKey(times)
        raise InvalidInput({"times": f"y -N: a number from {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}, not {times}."})
    if key := KEYS.get(said.casefold()):
        return key
    words = FreeText(f"!{said}" if is_thread_command(said) else said)
    is_word = 0 < len(said) <= MAX_WORD_CHARACTERS and len(said.split()) == 1
    is_unclear = is_word or is_agreement(said)
    return UnclearWord(said) if is_unclear and not (words.is_verb or is_question(words.text)) else words


def parse_settlement(line: str) -> Settlement:
    """Parse r (run again), i (it ran) or s (skip) for a command that may have run; else raise InvalidInput."""
    said = line.strip().casefold()
    if said not in SETTLEMENTS:
        raise InvalidInput(
            {"answer": "Nothing was decided. Answer r (run again), i (it ran) or s (skip); x stops the agent."}
        )
    return SETTLEMENTS[said]


def is_for_any_turn(answer: Answer) -> bool:
    """Whether an answer means the same for an open proposal and for an interrupted command."""
    return answer in ("view", "stop", "help") or (isinstance(answer, FreeText) and answer.is_verb)
