"""What a line typed at a question means."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from adapters.wishes import is_wish
from agent_core.errors import InvalidInput
from agent_core.model.decision import FEWEST_TIMES, MOST_TIMES, Settlement

SETTLEMENTS: dict[str, Settlement] = {"r": "run again", "i": "it ran", "s": "skip"}


@dataclass(frozen=True, slots=True)
class Yes:
    """Approve this command, and the next ones up to `times` in all."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class Change:
    """Change the arguments first."""


@dataclass(frozen=True, slots=True)
class Review:
    """Have the model criticise its proposal, then ask again."""


@dataclass(frozen=True, slots=True)
class No:
    """Stop the agent."""


@dataclass(frozen=True, slots=True)
class Words:
    """Anything else is said to the agent, or wished with a mark before it."""

    text: str


Answer: TypeAlias = Yes | Change | Review | No | Words


def understood(line: str) -> Answer:
    """Read the answer to a proposal; raise InvalidInput for a number that cannot be used."""
    said = line.strip()
    if more := re.fullmatch(r"y\s*-\s*([0-9]{1,9})", said, re.IGNORECASE):
        return _times(int(more[1]))
    match said.casefold():
        case "y":
            return Yes()
        case "e":
            return Change()
        case "s":
            return Review()
        case "n":
            return No()
        case _:
            return Words(f"!{said}" if is_wish(said) else said)


def settlement(line: str) -> Settlement:
    """Read the answer about a command that may have run; raise InvalidInput for anything but the three."""
    said = line.strip().casefold()
    if said not in SETTLEMENTS:
        raise InvalidInput({"answer": "Answer r (run again), i (it ran) or s (skip); n stops the agent."})
    return SETTLEMENTS[said]


def _times(times: int) -> Yes:
    if not FEWEST_TIMES <= times <= MOST_TIMES:
        raise InvalidInput({"times": f"y -N: a number from {FEWEST_TIMES} to {MOST_TIMES}, not {times}."})
    return Yes(times)
