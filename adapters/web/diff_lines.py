"""The lines of a diff for the page, with the words that changed between a removed line and its successor.

A removed and an added line are compared only if they are similar, and only while that is fast: both may be hostile.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import Match, SequenceMatcher
from functools import lru_cache
from itertools import groupby, takewhile
from typing import Literal, TypeAlias

import regex

from agent_core.text.lines import counted

KINDS: dict[str, "LineKind"] = {"+": "add", "-": "cut", "@": "place"}
MAX_COMPARED_TOKENS = 200  # of one line, without what both lines begin and end with
MAX_STEPS = 60_000  # of one diff, about 10 ms: characters that are split into tokens, and equal tokens that are tried
STEPS_OF_PAIR = 400  # for which comparing two lines takes as long whatever is in them
MAX_DRAWN_LINES = 1_000  # with a kind of their own; those after them are drawn as one
MAX_TRIED_LINES = 4  # added lines that a removed one is compared with
MIN_SIMILARITY = 0.5  # the share of characters that both lines have
MAX_LINE_CHARACTERS = 5_000
MAX_KEPT_DIFFS = 64
HUNK = regex.compile(r"@@ -(?P<old>[0-9]{1,9})(?:,[0-9]+)? \+(?P<new>[0-9]{1,9})(?:,[0-9]+)? @@")
LineKind: TypeAlias = Literal["add", "cut", "place", "keep"]
# A word with its combining marks and joiners; of scripts without spaces, a letter; otherwise a character as it is seen.
TOKEN: regex.Pattern[str] = regex.compile(
    r"[[\w\p{M}\u200c\u200d]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]+|\s+|\X",
    regex.VERSION1,
)


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line; `is_changed`: the other line of the pair does not have it."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff; `kind` is its CSS class: add, cut, place (a hunk header) or keep.

    `old`, `new`: its number in the file before and after, "" for none.
    """

    kind: LineKind
    parts: tuple[LinePart, ...]
    old: str = ""
    new: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class Allowance:
    """The steps that are left for one diff."""

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def take(self, number: int) -> bool:
        """Whether as many steps are left; they are used up then. After the first refusal none are left."""
        self.left = self.left - number if number <= self.left else -1
        return self.left >= 0


class _BoundedMatcher(SequenceMatcher[str]):
    """Takes the steps of each search for the longest match: difflib makes one more for each block that it finds."""

    def __init__(self, old: Sequence[str], new: Sequence[str], allowance: Allowance) -> None:
        self.allowance = allowance
        self.old, self.number_of = old, Counter(new)
        super().__init__(None, old, new, autojunk=False)

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """The longest match; an empty one when no steps are left."""
        steps = sum(1 + self.number_of[token] for token in self.old[alo:ahi])
        return super().find_longest_match(alo, ahi, blo, bhi) if self.allowance.take(steps) else Match(alo, blo, 0)


def plain_lines(body: str) -> tuple[DiffLine, ...]:
    """The lines of a text that is no diff."""
    return tuple(_lines(body, {}))


@lru_cache(maxsize=MAX_KEPT_DIFFS)
def diff_lines(body: str) -> tuple[DiffLine, ...]:
    """The lines of a unified diff without file headers."""
    lines = _numbered(_lines(body, KINDS))
    allowance = Allowance()
    for cut, added in _replaced_runs(lines):
        for one, other in _similar_pairs(lines, cut, added, allowance):
            lines[one[0]], lines[other[0]] = one[1], other[1]
    return tuple(lines)


def changed_parts(old: str, new: str) -> tuple[tuple[LinePart, ...], tuple[LinePart, ...]] | None:
    """Both lines in parts, with what changed marked; None if they have too little in common, or are too long."""
    return _compare(old, new, Allowance())


def _lines(body: str, kinds: Mapping[str, LineKind]) -> list[DiffLine]:
    """The lines; those after MAX_DRAWN_LINES as one of kind `keep`, so that a page of many short lines stays fast."""
    texts = body.split("\n")
    lines = [DiffLine(kinds.get(text[:1], "keep"), (LinePart(text),)) for text in texts[:MAX_DRAWN_LINES]]
    rest = texts[MAX_DRAWN_LINES:]
    return [*lines, DiffLine("keep", (LinePart("\n".join(rest)),))] if rest else lines


def _numbered(lines: Sequence[DiffLine]) -> list[DiffLine]:
    """The lines with their numbers, as hunk headers tell them. A header says how many lines it leaves out instead."""
    numbered, old, new = [], 0, 0
    is_known = bool(lines) and lines[0].kind == "add"  # a new text, of which cards leave the header out
    for line in lines:
        if hunk := HUNK.fullmatch(line.text):
            hidden, is_known = int(hunk["old"]) - old - 1, True
            old, new = max(int(hunk["old"]) - 1, 0), max(int(hunk["new"]) - 1, 0)
            numbered += [_hidden_lines(hidden)] if hidden > 0 else []
        elif is_known and line.text[:1] in ("+", "-", " "):
            old, new = old + (line.kind != "add"), new + (line.kind != "cut")
            numbered.append(replace(line, old=str(old) * (line.kind != "add"), new=str(new) * (line.kind != "cut")))
        else:
            numbered.append(line)
    return numbered


def _hidden_lines(number: int) -> DiffLine:
    return DiffLine("place", (LinePart(f"⋯ {counted(number, 'line')} as before"),))


def _replaced_runs(lines: Sequence[DiffLine]) -> Iterator[tuple[range, range]]:
    """The places of removed lines and of the added lines that follow them at once."""
    start, cut = 0, range(0)
    for kind, group in groupby(line.kind for line in lines):
        here = range(start, start := start + len(list(group)))
        if kind == "add" and cut:
            yield cut, here
        cut = here if kind == "cut" else range(0)


def _similar_pairs(
    lines: Sequence[DiffLine], cut: range, added: range, allowance: Allowance
) -> Iterator[tuple[tuple[int, DiffLine], tuple[int, DiffLine]]]:
    """Each removed line with the first similar one of the next added lines, both with their changed parts."""
    begin = added.start
    for place in cut:
        for other in range(begin, min(begin + MAX_TRIED_LINES, added.stop)):
            parts = _compare(lines[place].text[1:], lines[other].text[1:], allowance)
            if parts:
                yield (place, _with_sign(lines[place], parts[0])), (other, _with_sign(lines[other], parts[1]))
                begin = other + 1
                break


def _with_sign(line: DiffLine, parts: tuple[LinePart, ...]) -> DiffLine:
    return replace(line, parts=(LinePart(line.text[:1]), *parts))


def _compare(old: str, new: str, allowance: Allowance) -> tuple[tuple[LinePart, ...], tuple[LinePart, ...]] | None:
    if max(len(old), len(new)) > MAX_LINE_CHARACTERS or not old.strip() or not new.strip():
        return None
    if not allowance.take(STEPS_OF_PAIR + len(old) + len(new)):
        return None
    before, after = TOKEN.findall(old), TOKEN.findall(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    middles = before[start : len(before) - end], after[start : len(after) - end]
    if max(map(len, middles)) > MAX_COMPARED_TOKENS:
        return None
    flags = _flags(start, end, *middles, allowance)
    if allowance.left < 0 or _kept(before, flags[0]) + _kept(after, flags[1]) < MIN_SIMILARITY * (len(old) + len(new)):
        return None
    return _parts(before, flags[0]), _parts(after, flags[1])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal tokens at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _flags(
    start: int, end: int, old: Sequence[str], new: Sequence[str], allowance: Allowance
) -> tuple[list[bool], list[bool]]:
    """For each token of both lines, whether it changed. A space between two changed words counts as changed."""
    cut, added = [True] * len(old), [True] * len(new)
    for block in _BoundedMatcher(old, new, allowance).get_matching_blocks():
        if any(token.strip() for token in old[block.a : block.a + block.size]):
            cut[block.a : block.a + block.size] = added[block.b : block.b + block.size] = [False] * block.size
    return [False] * start + cut + [False] * end, [False] * start + added + [False] * end


def _kept(tokens: Sequence[str], flags: Sequence[bool]) -> int:
    """The number of characters that did not change."""
    return sum(len(token) for token, is_changed in zip(tokens, flags, strict=True) if not is_changed)


def _parts(tokens: Sequence[str], flags: Sequence[bool]) -> tuple[LinePart, ...]:
    grouped = groupby(zip(tokens, flags, strict=True), key=lambda pair: pair[1])
    return tuple(LinePart("".join(token for token, _ in group), is_changed) for is_changed, group in grouped)
