"""How the lines of a text end, and in words what a change does to that: a diff of lines does not show it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import ne

from agent_core.model.lines import counted

NAMES = {"\n": "LF", "\r\n": "CRLF"}


@dataclass(frozen=True, slots=True)
class EndedLines:
    """The lines of a text without their ends, and the ends; that of the last line is "" if the text stops there.

    A text is cut at line feeds alone, as programs cut it.
    """

    texts: list[str]
    ends: list[str]

    @classmethod
    def of(cls, text: str) -> "EndedLines":
        *texts, rest = text.split("\n")
        ends = ["\n"] * len(texts)
        if "\r" in text:
            pieces, texts = texts, [piece.rstrip("\r") for piece in texts]
            ends = [f"{piece[len(line) :]}\n" for piece, line in zip(pieces, texts, strict=True)]
        last = rest.rstrip("\r")
        return cls([*texts, last], [*ends, rest[len(last) :]]) if rest else cls(texts, ends)


def changed_ends(before: EndedLines, after: EndedLines, kept: Iterable[tuple[int, int, int]]) -> int:
    """How many of the kept lines change their ends; `kept`: a place in both texts, and how many lines from there on.

    That a last line gets an end because another one follows, or loses it because none does, counts for nothing.
    """
    changed = 0
    for old, new, size in kept:
        ends = before.ends[old : old + size], after.ends[new : new + size]
        changed += sum(map(ne, *ends))
        if old + size == len(before.ends) or new + size == len(after.ends):
            is_last_of_both = old + size - len(before.ends) == new + size - len(after.ends)
            changed -= size > 0 and not is_last_of_both and (ends[0][-1] == "") != (ends[1][-1] == "")
    return changed


def told_ends(before: EndedLines, after: EndedLines, changed: int) -> str:
    """A line for the top of a diff about the ends; "" if there is nothing to tell."""
    old, new = _kinds(before.ends), _kinds(after.ends)
    if changed == 1 and old.keys() == new.keys() and "" in (before.ends[-1], after.ends[-1]):
        return f"\\ The last line {'gets a' if after.ends[-1] else 'loses its'} line end."
    if changed:
        return f"\\ {counted(changed, 'line')} with the same text: another line end. {_told(old, new)}"
    is_mixed = len(old.keys() | new.keys()) > 1 and old != new
    is_news = is_mixed or (not old and not new.keys() <= {"\n"})
    return f"\\ {_told(old, new)}" if is_news else ""


def _kinds(ends: Sequence[str]) -> Counter[str]:
    kinds = Counter(ends)
    del kinds[""]
    return kinds


def _told(old: Counter[str], new: Counter[str]) -> str:
    return f"Line ends: {f'{_listed(old)} before, {_listed(new)} after' if old else _listed(new)}."


def _listed(kinds: Counter[str]) -> str:
    return " and ".join(f"{number:,} {NAMES.get(end, 'others')}" for end, number in sorted(kinds.items())) or "none"
