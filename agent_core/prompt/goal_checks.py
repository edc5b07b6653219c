"""Checks what files hold against what goals say in so many words: given texts, numbers of words or lines, order.

Small models do not count and do not compare. What a check finds is told in the prompt, and the agent may not finish
before it is mended, for a few attempts.
"""

import json
import re
from collections.abc import Iterator, Sequence

from agent_core.model.lines import counted
from agent_core.model.result import Succeeded
from agent_core.prompt.known_files import known_files, named_files
from agent_core.prompt.packing import Situation

MAX_ATTEMPTS = 3  # writes of one file, after which a check that still fails is given up
MAX_SCANNED_CHARACTERS = 20_000
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: value for value, word in enumerate(NUMBER_WORDS, 1)}
NUMBER = rf"(\d{{1,4}}|{'|'.join(NUMBERS)})"
AT_MOST = re.compile(rf"\b(?:at most|no more than|up to|a maximum of)\s+{NUMBER}\s+(words?|lines?)\b", re.IGNORECASE)
EXACTLY = re.compile(rf"\b(?:exactly|of)\s+{NUMBER}\s+(words?|lines?)\b", re.IGNORECASE)
EXACT_ITEMS = re.compile(rf"\bexactly\s+{NUMBER}\b.*\b(?:one|each) (?:per|on a|on its own) line\b", re.IGNORECASE)
ONLY_A_NUMBER = re.compile(r"\bonly the (?:result|number|sum|product|difference|total)\b(?! of)", re.IGNORECASE)
PLAIN_NUMBER = re.compile(r"[-+]?[\d.,]+")
MAX_ORDERED_LINES = 12
ALPHABETICAL = re.compile(r"\balphabetical(?:ly)?\b", re.IGNORECASE)
# A text that a goal gives word by word: "the line monday into", "the word north", "the sentence … into".
GIVEN_TEXT = re.compile(
    r"(?<!\()\bthe (?:lines?|words?|numbers?|sentence|text|title)[ :]+"
    r"(?!of\b|that\b|which\b|from\b|found\b|in\b|and\b|is\b)"
    r"(.{1,80}?)(?=\s+(?:into|in|to|with|at the|as|from)\b|[.,;)\n]|$)",
    re.IGNORECASE,
)
# Beginnings of words that mean more work than writing files.
OTHER_WORK = re.compile(
    r"\b(?:delet|remov|search|googl|brows|look|tweet|post|publish|run|execut|renam|mov|ask|tell|messag|download|draw|"
    r"generat|translat|test|start|install|clone|remember|forget|read|check|review|correct|improv|edit|replac|chang)",
    re.IGNORECASE,
)
WRITING_WORDS = re.compile(r"\b(?:write|append|add|save|put|create|insert|enter|store|make)\b", re.IGNORECASE)
CHARACTERS_PER_WORD = 5


def unmet_limits(situation: Situation) -> tuple[str, ...]:
    """A sentence for each file that breaks a limit or an order that a goal gives, unless attempts are used up."""
    files = known_files(situation.turns)
    return tuple(
        f"{name} {fault}"
        for goal in situation.agent.goals
        for name in named_files((goal,))
        if name in files and _attempts(situation, name) < MAX_ATTEMPTS
        for fault in (*_faults(goal[:MAX_SCANNED_CHARACTERS], files[name]), *_format_faults(name, files[name]))
    )


def missing_texts(situation: Situation) -> tuple[str, ...]:
    """The texts that the goals give word by word, in order, and that no known file has."""
    files, wanted = known_files(situation.turns), wanted_files(situation)
    held = "\n".join(text for name, text in files.items() if not wanted or name in wanted).casefold()
    return tuple(text for text in _given_texts(situation) if text.casefold() not in held)


def wanted_files(situation: Situation) -> tuple[str, ...]:
    """The files that the goals name, if the goals ask for nothing but writing files; else ()."""
    goals = "\n".join(situation.agent.goals)[:MAX_SCANNED_CHARACTERS]
    return () if OTHER_WORK.search(goals) else named_files(situation.agent.goals)


def longest_text(situation: Situation) -> int | None:
    """The most characters of the next text, after one had more words than a goal allows; None for no limit."""
    if not unmet_limits(situation):
        return None
    limits = (AT_MOST.search(goal) for goal in situation.agent.goals)
    words = [_value(found[1]) for found in limits if found and found[2].casefold().startswith("word")]
    return max(words) * CHARACTERS_PER_WORD if words else None


def is_all_written(situation: Situation) -> bool:
    """Whether the goals ask for nothing but writing, as often as the agent has written, and no check fails.

    What people wrote may ask for more, so with notes the answer is False.
    """
    files, wanted = known_files(situation.turns), wanted_files(situation)
    if not wanted or situation.notes or not all(name in files for name in wanted):
        return False
    asked = len(WRITING_WORDS.findall("\n".join(situation.agent.goals)[:MAX_SCANNED_CHARACTERS]))
    written = sum(_attempts(situation, name) for name in wanted)
    return written >= asked and not missing_texts(situation) and not unmet_limits(situation)


def _given_texts(situation: Situation) -> Sequence[str]:
    joined = "\n".join(situation.agent.goals)[:MAX_SCANNED_CHARACTERS]
    found = (text.strip(" \"'`“”()") for text in GIVEN_TEXT.findall(joined))
    return list(dict.fromkeys(text for text in found if text))


def _attempts(situation: Situation, name: str) -> int:
    """How often the agent has written this file."""
    return sum(
        turn.call.arguments.get("filename") == name and "write" in turn.risks and isinstance(turn.result, Succeeded)
        for turn in situation.turns
    )


def _faults(goal: str, text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if (found := AT_MOST.search(goal)) and (has := _count(found[2], text, lines)) > (most := _value(found[1])):
        yield f"has {counted(has, found[2].rstrip('s').casefold())}, and the goal allows at most {most}."
    for found in (EXACTLY.search(goal), EXACT_ITEMS.search(goal)):
        unit = "line" if not found or found.lastindex == 1 else found[2].rstrip("s").casefold()
        if found and _count(unit, text, lines) != (wanted := _value(found[1])):
            yield f"has {counted(_count(unit, text, lines), unit)}, and the goal wants exactly {wanted}."
    if ONLY_A_NUMBER.search(goal) and not PLAIN_NUMBER.fullmatch(text.strip()):
        yield "holds more than a number."
    ordered = sorted(lines, key=str.casefold)
    if ALPHABETICAL.search(goal) and lines != ordered:
        right = json.dumps("\n".join(ordered), ensure_ascii=False)
        shown = f", which is: {right}" if len(lines) <= MAX_ORDERED_LINES else ""
        yield f"is not in alphabetical order{shown}."


def _format_faults(name: str, text: str) -> Iterator[str]:
    if name.casefold().endswith(".json"):
        try:
            json.loads(text)
        except ValueError:
            yield "is not valid JSON."


def _count(unit: str, text: str, lines: Sequence[str]) -> int:
    return len(text.split()) if unit.casefold().startswith("word") else len(lines)


def _value(number: str) -> int:
    return NUMBERS.get(number.casefold()) or int(number)
