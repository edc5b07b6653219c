"""Unified diffs of two texts with counts of lines; for texts too long to compare, the number of replaced lines."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

MAX_COMPARED_LINES = 2_000  # per side; difflib takes up to the product of both
MAX_DIFF_CHARACTERS = 60_000  # the command's arguments show the new text in full
CONTEXT_LINES = 2
RETURN = "␍"
RETURNS = f"\\ {RETURN} is a carriage return, as in the line ends of Windows (CRLF)."


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The diff, with the numbers of added and removed lines.

    A text is cut at line feeds alone, as programs cut it; a carriage return before one is shown as ␍, unless all
    lines have it, and had it before. Lines of the body that begin with a backslash tell what the others cannot show.
    """

    body: str
    plus: int
    minus: int


def diff_of(old: str, new: str) -> TextDiff:
    """The diff from `old` to `new`. Common first and last lines are not compared."""
    before, after = _lines(old), _lines(new)
    if before and all(line.endswith("\r") for line in (*before, *after)):
        before, after = [line[:-1] for line in before], [line[:-1] for line in after]
    has_returns = any(line.endswith("\r") for line in (*before, *after))
    body, plus, minus = _content_diff(before, after)
    told = [RETURNS] if has_returns and RETURN in body else []
    had_end, has_end = old.endswith("\n"), new.endswith("\n")
    if old and new and had_end != has_end:
        told.append(f"\\ The last line {'gets a' if has_end else 'loses its'} line end.")
        plus, minus = plus + 1, minus + 1
    return TextDiff("\n".join(filter(None, (*told, body))), plus, minus)


def line_count(text: str) -> int:
    """The number of lines, as a diff counts them."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _content_diff(before: Sequence[str], after: Sequence[str]) -> tuple[str, int, int]:
    """The diff of lines, and how many it adds and removes."""
    start = _common_prefix_length(before, after)
    end = _common_prefix_length(before[start:][::-1], after[start:][::-1])
    cut, added = len(before) - start - end, len(after) - start - end
    if max(cut, added) > MAX_COMPARED_LINES:
        said = f"Too long to compare: {cut:,} lines, from line {start + 1:,} on, give way to {added:,} others."
        return said, added, cut
    first, last = max(start - CONTEXT_LINES, 0), min(end, CONTEXT_LINES)
    parts = (before[first : len(before) - end + last], after[first : len(after) - end + last])
    lines = [
        _shift_hunk_header(line, first) for line in list(difflib.unified_diff(*parts, lineterm="", n=CONTEXT_LINES))[2:]
    ]
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return _truncate([f"{line[:-1]}{RETURN}" if line.endswith("\r") else line for line in lines]), plus, minus


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
