"""What a write changes, as a unified diff; where two texts are too long to be compared, how much is replaced."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

MOST_COMPARED = 2_000  # lines of each side that differ: comparing takes up to the product of both
MOST_SHOWN = 60_000  # characters; the new text stands whole in the command's arguments
AROUND = 2


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The diff with how many lines come and go."""

    body: str
    plus: int
    minus: int


def diff_of(old: str, new: str) -> TextDiff:
    """From one text to another. What both begin and end with is not compared."""
    before, after = old.splitlines(), new.splitlines()
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    cut, added = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(cut), len(added)) > MOST_COMPARED:
        said = (
            f"Too long to compare: {len(cut):,} lines, from line {start + 1:,} on, give way to {len(added):,} others."
        )
        return TextDiff(said, len(added), len(cut))
    first, last = max(start - AROUND, 0), min(end, AROUND)
    parts = (before[first : len(before) - end + last], after[first : len(after) - end + last])
    lines = [_moved(line, first) for line in list(difflib.unified_diff(*parts, lineterm="", n=AROUND))[2:]]
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return TextDiff(_bounded(lines), plus, minus)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(line: str, by: int) -> str:
    """The head of a hunk with the numbers of the whole text."""
    if not line.startswith("@@ ") or not by:
        return line
    old, new = line.split()[1:3]
    return f"@@ {_later(old, by)} {_later(new, by)} @@"


def _later(place: str, by: int) -> str:
    start, comma, count = place[1:].partition(",")
    return f"{place[0]}{int(start) + by}{comma}{count}"


def _bounded(lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    if len(body) <= MOST_SHOWN:
        return body
    shown = body[:MOST_SHOWN].rpartition("\n")[0] or body[:MOST_SHOWN]
    return f"{shown}\n… {len(lines) - shown.count(chr(10)) - 1:,} more lines of the change"
