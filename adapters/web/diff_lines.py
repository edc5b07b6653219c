"""The lines of a diff for the page: their numbers, the words that changed, and the colours of code.

Lines, words and colours have caps, because both texts may be hostile: beyond them a line is drawn plainly.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from html import unescape
from itertools import groupby
from typing import Literal, TypeAlias

import regex

from adapters.screens.visible_text import Readable, readable
from agent_core.text.lines import counted

MAX_FIRST_LINES = 400  # the others are behind a line that opens
MAX_DRAWN_LINES = 2_000  # those after them are drawn as one
MAX_LINE_CHARACTERS = 2_000  # of a line that is compared
MAX_WORDS = 60  # of one line, between what both lines begin and end with
MAX_COMPARISONS = 60_000  # of a word with a word, in one diff
MAX_COLOURED_CHARACTERS = 20_000
WITHOUT_COLOURS = (".txt", ".csv", ".tsv", ".log", ".md", ".markdown")  # worth no process: they are text, not code
MIN_SIMILARITY = 0.5  # the share of characters that both lines have
TRIED_LINES = 3  # added lines that a removed one is compared with
MAX_KEPT_DIFFS = 64
LineKind: TypeAlias = Literal["add", "cut", "keep", "place"]
HtmlOf: TypeAlias = Callable[[str, str, str], str]  # of a kind of text, with the name of its file
KINDS: dict[str, LineKind] = {"+": "add", "-": "cut", " ": "keep"}
HUNK = regex.compile(r"@@ -(?P<old>[0-9]{1,9})(?:,[0-9]+)? \+(?P<new>[0-9]{1,9})(?:,[0-9]+)? @@")
# A word with its combining marks and joiners; of scripts without spaces, a letter; otherwise a character as it is seen.
WORD: regex.Pattern[str] = regex.compile(
    r"[[\w\p{M}\u200c\u200d]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]+|\s+|\X",
    regex.VERSION1,
)
TOKEN = regex.compile(r'<span class="(?P<kind>[a-z0-9]+)">(?P<text>[^<]*)</span>|(?P<plain>[^<]+)')
# Pygments' short names of tokens by their beginnings: https://pygments.org/docs/tokens/
HUES = {"k": "word", "ow": "word", "s": "text", "dl": "text", "m": "number", "il": "number", "c": "note"}
HUES |= dict.fromkeys(("nf", "fm", "nc", "nt", "na", "nn", "nd", "nb", "bp"), "name")


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line. `is_changed`: the other line of the pair does not have it. `hue`: its colour's class, or ""."""

    text: str
    is_changed: bool = False
    hue: str = ""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line without its sign. `kind` is its CSS class; `place` says what is left out here.

    `old`, `new`: its number in the file before and after, "" for none.
    """

    kind: LineKind
    parts: tuple[LinePart, ...]
    old: str = ""
    new: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@lru_cache(maxsize=MAX_KEPT_DIFFS)
def diff_lines(body: str) -> tuple[DiffLine, ...]:
    """The lines of a unified diff without file headers, with the words that changed."""
    lines, left = _numbered(readable(body).split("\n")), MAX_COMPARISONS
    for cut, added in _replaced_runs(lines):
        begin = added.start
        for place in cut:
            for other in range(begin, min(begin + TRIED_LINES, added.stop)):
                parts, cost = changed_parts(lines[place].text, lines[other].text, left)
                left -= cost
                if parts:
                    lines[place] = replace(lines[place], parts=parts[0])
                    lines[other] = replace(lines[other], parts=parts[1])
                    begin = other + 1
                    break
    return tuple(lines)


def draw_diff(body: str, name: str, html_of: HtmlOf) -> tuple[list[list[DiffLine]], list[list[DiffLine]]]:
    """The lines in runs that changed or did not: those that are seen at once, and those behind a line that opens.

    Code is coloured by the language that the `name` of its file tells; `name` is "" for no colours.
    """
    lines = list(diff_lines(body))
    first, rest = lines[:MAX_FIRST_LINES], lines[MAX_FIRST_LINES:]
    if "." in name and not name.casefold().endswith(WITHOUT_COLOURS):
        _colour_side(first, "cut", name, html_of)
        _colour_side(first, "add", name, html_of)
    return _runs(first), _runs(rest)


def changed_parts(old: str, new: str, most: int) -> tuple[tuple[tuple[LinePart, ...], ...] | None, int]:
    """Both lines in parts if they have enough in common, and how many comparisons of words that took: `most` or fewer.

    A space between two changed words counts as changed.
    """
    if max(len(old), len(new)) > MAX_LINE_CHARACTERS or not old.strip() or not new.strip():
        return None, 0
    before, after = WORD.findall(old), WORD.findall(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    words = before[start : len(before) - end], after[start : len(after) - end]
    cost = len(words[0]) * len(words[1])
    if max(map(len, words)) > MAX_WORDS or cost > most:
        return None, 0
    changed = [[False] * start + [True] * len(side) + [False] * end for side in words]
    for block in SequenceMatcher(None, *words, autojunk=False).get_matching_blocks():
        if any(word.strip() for word in words[0][block.a : block.a + block.size]):
            for flags, at in zip(changed, (block.a + start, block.b + start), strict=True):
                flags[at : at + block.size] = [False] * block.size
    sides = [_parts(zip(side, flags, strict=True)) for side, flags in zip((before, after), changed, strict=True)]
    same = sum(len(part.text) for side in sides for part in side if not part.is_changed)
    return (tuple(sides) if same >= MIN_SIMILARITY * (len(old) + len(new)) else None), cost


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal words at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))


def _parts(words: Iterator[tuple[str, bool]]) -> tuple[LinePart, ...]:
    grouped = groupby(words, key=lambda pair: pair[1])
    return tuple(LinePart(Readable("".join(word for word, _ in group)), changed) for changed, group in grouped)


def _numbered(texts: Sequence[str]) -> list[DiffLine]:
    """The lines with their numbers, as hunk headers tell them; a header says how many lines it leaves out instead."""
    lines, old, new = [], 0, 0
    is_known = texts[0][:1] == "+"  # a new text, of which cards leave the header out
    for text in texts[:MAX_DRAWN_LINES]:
        kind = KINDS.get(text[:1])
        if hunk := HUNK.fullmatch(text):
            hidden, is_known = int(hunk["old"]) - old - 1, True
            old, new = max(int(hunk["old"]) - 1, 0), max(int(hunk["new"]) - 1, 0)
            lines += [_line("place", f"⋯ {counted(hidden, 'line')} as before")] if hidden > 0 else []
        elif kind and is_known:
            old, new = old + (kind != "add"), new + (kind != "cut")
            lines.append(_line(kind, text[1:], str(old) * (kind != "add"), str(new) * (kind != "cut")))
        else:
            lines.append(_line(kind, text[1:]) if kind else _line("place", text))
    rest = "\n".join(texts[MAX_DRAWN_LINES:])
    return [*lines, _line("place", rest)] if rest else lines


def _line(kind: LineKind, text: str, old: str = "", new: str = "") -> DiffLine:
    return DiffLine(kind, (LinePart(Readable(text)),), old, new)


def _replaced_runs(lines: Sequence[DiffLine]) -> Iterator[tuple[range, range]]:
    """The places of removed lines and of the added lines that follow them at once."""
    start, cut = 0, range(0)
    for kind, group in groupby(line.kind for line in lines):
        here = range(start, start := start + len(list(group)))
        if kind == "add" and cut:
            yield cut, here
        cut = here if kind == "cut" else range(0)


def _runs(lines: Sequence[DiffLine]) -> list[list[DiffLine]]:
    return [list(run) for _, run in groupby(lines, key=lambda line: line.kind in ("add", "cut"))]


def _colour_side(lines: list[DiffLine], changed: LineKind, name: str, html_of: HtmlOf) -> None:
    """Colour the text before or after the change, as far as its lines are here."""
    places = [at for at, line in enumerate(lines) if line.kind in (changed, "keep")]
    text = "\n".join(lines[at].text for at in places)
    if len(text) > MAX_COLOURED_CHARACTERS or all(lines[at].kind == "keep" for at in places):
        return
    for at, html in zip(places, html_of("code", name, text).split("\n"), strict=False):
        tokens = [(unescape(each["text"] or each["plain"] or ""), each["kind"] or "") for each in TOKEN.finditer(html)]
        if "".join(token for token, _ in tokens) == lines[at].text:
            hues = [_hue(kind) for token, kind in tokens for _ in token]
            lines[at] = replace(lines[at], parts=_coloured(lines[at].parts, hues))


def _hue(kind: str) -> str:
    return HUES.get(kind) or HUES.get(kind[:1] if kind[:1] in "ksmc" else "", "")


def _coloured(parts: Sequence[LinePart], hues: Sequence[str]) -> tuple[LinePart, ...]:
    changed = (part.is_changed for part in parts for _ in part.text)
    characters = zip("".join(part.text for part in parts), changed, hues, strict=True)
    grouped = groupby(characters, key=lambda each: each[1:])
    return tuple(LinePart(Readable("".join(each[0] for each in group)), *look) for look, group in grouped)
