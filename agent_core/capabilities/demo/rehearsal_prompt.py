"""Parses the prompt for the scripted demo model: goals, names of commands, and what became of its earlier steps."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from agent_core.model.command import NO_DRY_RUN
from agent_core.model.model_calls import Message
from agent_core.prompt.system import CONSTRAINTS

MAX_QUOTE_CHARACTERS = 300

StepOutcome = Literal["done", "edited", "failed", "rejected", "withdrawn", "not proposed", "unknown"]
STEP_MARK = re.compile(r"Step (\d+) of \d+ · (.*)")
NOT_PROPOSED = "This step could not be put before you: "


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPast:
    """A past turn in the prompt: its step number and title, its outcome, and the reason for it."""

    number: int
    title: str
    outcome: StepOutcome
    why: str = ""


def parse_goals(system_prompt: str) -> tuple[str, ...]:
    """The numbered goals in the system prompt."""
    _, found, rest = system_prompt.partition("\n\nGoals:\n")
    block, ended, _ = rest.partition(f"\n\nConstraints:\n1. {CONSTRAINTS[0]}")
    goals: list[str] = []
    for line in block.split("\n") if found and ended else ():
        number = f"{len(goals) + 1}. "
        if line.startswith(number):
            goals.append(line.removeprefix(number))
        elif goals:
            goals[-1] += f"\n{line}"
    return tuple(goals)


def parse_commands(system_prompt: str) -> frozenset[str]:
    """The names of the commands in the system prompt."""
    _, _, rest = system_prompt.partition("\n\nCommands:\n")
    block, _, _ = rest.partition("\n\nReview of your work:\n")
    return frozenset(re.findall(r"^- (\w+)\(", block, re.MULTILINE))


def parse_past(messages: Sequence[Message]) -> tuple[RehearsalPast, ...]:
    """The past turns in the prompt, oldest first."""
    return tuple(
        _past(reply.content, result.content) for reply, result in pairwise(messages) if reply.role == "assistant"
    )


def shorten(text: str, most: int) -> str:
    """The text, cut to `most` characters with "…" as the last."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _past(reply: str, result_text: str) -> RehearsalPast:
    parsed = json.loads(reply)
    text, name = str(parsed["thoughts"]["text"]), str(parsed["command"]["name"])
    mark = STEP_MARK.match(text)
    outcome, why = _outcome(name, result_text)
    if outcome in ("done", "edited") and NOT_PROPOSED in text:
        outcome, why = "not proposed", text.partition(NOT_PROPOSED)[2].partition("\n")[0]
    return RehearsalPast(number=int(mark[1]) if mark else 0, title=mark[2] if mark else "", outcome=outcome, why=why)


def _outcome(name: str, result_text: str) -> tuple[StepOutcome, str]:
    if result_text.startswith(f"{name} was not run: "):
        return "withdrawn", ""
    if result_text.startswith(f"{name} was not run. "):
        return "rejected", shorten(result_text.removeprefix(f"{name} was not run. "), MAX_QUOTE_CHARACTERS)
    before, _, result = result_text.partition(f"Result of {name}: ")
    if result.startswith("Dry run: ") and NO_DRY_RUN in result:  # to be done for real
        return "withdrawn", ""
    failed = result.startswith(("Error: ", "Interrupted: ")) or re.match(r"stopped by .* while it ran", result)
    if failed:
        return "failed", shorten(result, MAX_QUOTE_CHARACTERS)
    return ("edited" if " changed the arguments before it ran" in before else "done"), ""
