"""Unified diffs of file writes; for texts that are too long to compare, the number of replaced lines."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from agent_core.model.line_ends import EndedLines, changed_ends, told_ends

MAX_COMPARED_LINES = 2_000  # per side; difflib takes up to the product of both
MAX_DIFF_CHARACTERS = 60_000  # the command's arguments show the new text in full
CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The diff, with the numbers of added and removed lines; a line of which only the end changes is both.

    EndedLines of the body that begin with a backslash say in words what happens to the ends of lines.
    """

    body: str
    plus: int
    minus: int


def diff_of(old: str, new: str) -> TextDiff:
    """The diff from `old` to `new`. Common first and last lines are not compared."""
    before, after = EndedLines.of(old), EndedLines.of(new)
    body, plus, minus, kept = _content_diff(before.texts, after.texts)
    changed = changed_ends(before, after, kept)
    told = told_ends(before, after, changed)
    return TextDiff("\n".join(filter(None, (told, body))), plus + changed, minus + changed)


def line_count(text: str) -> int:
    """The number of lines, as a diff counts them."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def _content_diff(before: Sequence[str], after: Sequence[str]) -> tuple[str, int, int, list[tuple[int, int, int]]]:
    """The diff of lines without their ends, what it adds and removes, and the blocks of lines that it keeps."""
    start = _common_prefix_length(before, after)
    end = _common_prefix_length(before[start:][::-1], after[start:][::-1])
    cut, added = before[start : len(before) - end], after[start : len(after) - end]
    kept = [(0, 0, start), (len(before) - end, len(after) - end, end)]
    if max(len(cut), len(added)) > MAX_COMPARED_LINES:
        said = (
            f"Too long to compare: {len(cut):,} lines, from line {start + 1:,} on, give way to {len(added):,} others."
        )
        return said, len(added), len(cut), kept
    blocks = difflib.SequenceMatcher(None, cut, added).get_matching_blocks()
    kept += [(start + block.a, start + block.b, block.size) for block in blocks]
    first, last = max(start - CONTEXT_LINES, 0), min(end, CONTEXT_LINES)
    parts = (before[first : len(before) - end + last], after[first : len(after) - end + last])
    lines = [
        _shift_hunk_header(line, first) for line in list(difflib.unified_diff(*parts, lineterm="", n=CONTEXT_LINES))[2:]
    ]
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return _truncate(lines), plus, minus, kept


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _shift_hunk_header(line: str, by: int) -> str:
    """A hunk header with its line numbers moved by `by`; any other line unchanged."""
    if not line.startswith("@@ ") or not by:
        return line
    old, new = line.split()[1:3]
    return f"@@ {_shift_range(old, by)} {_shift_range(new, by)} @@"


def _shift_range(place: str, by: int) -> str:
    start, comma, count = place[1:].partition(",")
    return f"{place[0]}{int(start) + by}{comma}{count}"


def _truncate(lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    if len(body) <= MAX_DIFF_CHARACTERS:
        return body
    shown = body[:MAX_DIFF_CHARACTERS].rpartition("\n")[0] or body[:MAX_DIFF_CHARACTERS]
    return f"{shown}\n… {len(lines) - shown.count(chr(10)) - 1:,} more lines of the change"
